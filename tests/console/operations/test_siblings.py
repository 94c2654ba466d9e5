"""A resubmit reaches only the queue that a message died on. For every queue of the
address there is a choice, and pages, the API and the command line name them before."""

from __future__ import annotations

import pytest
from django.urls import reverse

from broker import operations
from broker.acts.operations.siblings import siblings_of
from broker.models import Operation, Queue, RoutingType
from broker.security import authorities
from tests.console.commanding import told
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import order, plan, said, url
from tests.make import make_queue, make_user

Kind = Operation.Kind


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places()


def test_a_resubmit_counts_the_other_queues_of_the_address_by_name(
    sign_in: SignIn,
) -> None:
    orders = make_places()
    Queue.objects.filter(pk=orders.pk).update(routing_type=RoutingType.MULTICAST)
    make_queue("audit", address="orders", routing_type=RoutingType.MULTICAST)
    client = sign_in("operator")
    die()
    die()
    form = client.get(reverse("console:order", args=["DLQ"]), {"which": "all"})
    assert "All queues of the address" in words(form.content.decode())

    alone = said(client, url("operation", plan(client)))
    reaching = order(client, Kind.RESUBMIT, queue="DLQ", every_queue="1")

    assert "beside orders" not in alone
    assert reaching.argument == operations.EVERY_QUEUE
    page = said(client, url("operation", reaching))
    assert "reached, beside orders: up to 2 messages to audit." in page


def test_one_click_reaches_one_queue_and_offers_all(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die()
    client = sign_in("operator")
    pages = [
        reverse("console:dead_letters"),
        f"{reverse('console:dead_letters')}?by=queue",
        reverse("console:dead_letter_group", args=[letter.fingerprint]),
        reverse("console:message", args=[letter.origin_id]),
    ]
    for page in pages:
        assert 'name="every_queue"' not in client.get(page).content.decode()
    for name in ("audit", "billing.copies"):
        make_queue(name, address="orders", routing_type=RoutingType.MULTICAST)

    for page in pages:
        text = said(client, page).replace("Repair and resubmit… ", "")
        assert "… All 3 queues of the address" in text
    assert plan(client, message=letter.message_id).argument == ""
    every = plan(client, message=letter.message_id, every_queue="1")
    assert every.argument == operations.EVERY_QUEUE


def test_the_api_and_the_command_line_name_the_other_queues_too(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die()
    make_queue("audit", address="orders", routing_type=RoutingType.MULTICAST)
    sibling = {"of": "orders", "queue": "audit", "messages": 1, "is_anycast": False}
    client = sign_in("operator")

    def sent(path: str, **body: object) -> list[object]:
        answer = client.post(f"{ROOT}/{path}", body, "application/json").json()
        found: list[object] = answer["siblings"]
        return found

    ids = [letter.message_id]
    one: dict[str, object] = {"kind": "resubmit", "messages": ids}
    assert sent("operations", **one) == []
    assert sent("operations", **one, every_queue=True) == [sibling]
    assert sent("resubmits", ids=ids) == []
    assert sent("resubmits", ids=ids, every_queue=True) == [sibling]
    command = ("resubmit", "-f", "state:dead", "--user", "operator")
    assert told(*command)["siblings"] == []
    assert told(*command, "--every-queue")["siblings"] == [sibling]
    hidden = make_user(
        permissions=("broker.view_queue",), granted=("inquire",), pattern="orders"
    )
    (unseen,) = siblings_of(["orders"], authorities.held_by(hidden))
    assert unseen.queue == ""
