"""Orders of an operator, as a browser gives them."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from broker.models import AddressSetting, Operation
from broker.queueing.put import put_many
from tests.console.letters import attempt
from tests.console.messages.test_messages import words
from tests.make import make_messages

PLAN = reverse("console:plan_resubmit")


def url(name: str, operation: Operation) -> str:
    return reverse(f"console:{name}", args=[operation.pk])


def said(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query, follow=True)
    assert answer.status_code == 200
    return words(answer.content.decode())


def plan(client: Client, **fields: object) -> Operation:
    answer = client.post(PLAN, fields)
    operation = Operation.objects.latest("pk")
    assert answer.status_code == 302
    assert answer["Location"] == url("operation", operation)
    return operation


def order(client: Client, kind: str, *ids: int, **fields: object) -> Operation:
    """Choose messages on ``queue``, all of them if none are named, and get a plan."""
    queue = fields.pop("queue", "orders")
    which = "ticked" if ids else "all"
    said = {"which": which, "message": ids, "kind": kind, **fields}
    answer = client.post(reverse("console:order", args=[queue]), said)
    operation = Operation.objects.latest("pk")
    assert answer.status_code == 302, words(answer.content.decode())
    assert answer["Location"] == url("operation", operation)
    return operation


def started(client: Client, operation: Operation) -> str:
    """Start it for a reason; return what its page says then."""
    answer = client.post(url("start", operation), {"reason": "The cause is mended."})
    assert answer.status_code == 302, words(answer.content.decode())
    return said(client, url("operation", operation))


def part_of(client: Client, order: Operation) -> str:
    """What htmx asks for."""
    part = client.get(url("operation", order), headers={"HX-Request": "true"})
    assert "HX-Request" in part["Vary"]
    return part.content.decode()


def many(count: int) -> None:
    """Dead letters of one get."""
    AddressSetting.objects.update(max_delivery_attempts=1)
    put_many(make_messages(count))
    attempt("ValueError: row 7 is bad", limit=count)
