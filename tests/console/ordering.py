"""Orders of an operator, as a browser gives them."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from broker.models import AddressSetting, Operation
from broker.put import put_many
from tests.console.letters import attempt
from tests.console.test_messages import words
from tests.make import make_messages

PLAN = reverse("console:plan_resubmit")


def url(name: str, operation: Operation) -> str:
    return reverse(f"console:{name}", args=[operation.pk])


def said(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return words(answer.content.decode())


def plan(client: Client, **fields: object) -> Operation:
    answer = client.post(PLAN, fields)
    operation = Operation.objects.latest("pk")
    assert answer.status_code == 302
    assert answer["Location"] == url("operation", operation)
    return operation


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
