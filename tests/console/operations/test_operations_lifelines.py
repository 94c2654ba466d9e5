"""What an operation did to a message stands in its timeline, and is not an attempt."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import Operation, Queue
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.letters import attempt, die, make_places
from tests.console.operations.ordering import order, plan, said, started, url
from tests.make import make_queue

Kind = Operation.Kind


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("billing")
    return make_places(attempts=3)


def story(client: Client, message_id: int) -> str:
    return said(client, reverse("console:message", args=[message_id]))


def undone(client: Client, operation: Operation) -> None:
    client.post(url("undo", operation))
    started(client, Operation.objects.get(undoes=operation))


@pytest.mark.parametrize(
    ("kind", "fields", "deed", "verdict"),
    [
        (Kind.MOVE, {"to": "billing"}, "Moved to billing: became", "ready on billing"),
        (Kind.REMOVE, {}, "Removed from orders", "It was removed from orders"),
        (Kind.EXPIRE, {}, "Expired at once", "It expired on orders"),
        (
            Kind.DEAD_LETTER,
            {},
            "Sent to the dead letters on DLA: became",
            "It is a dead letter on DLQ",
        ),
        (
            Kind.PRIORITY,
            {"priority": 9},
            "Given another priority",
            "It is ready on orders",
        ),
    ],
)
def test_each_kind_is_told(
    sign_in: SignIn,
    orders: Queue,
    kind: str,
    fields: dict[str, object],
    deed: str,
    verdict: str,
) -> None:
    one = put("orders").message_id
    client = sign_in("operator")
    operation = order(client, kind, one, **fields)
    started(client, operation)

    seen = story(client, one)

    assert deed in seen
    assert f"by operation {operation.pk}" in seen
    assert verdict in seen
    assert "Attempt 1" not in seen


def test_what_was_made_ready_before_its_time_is_told(
    sign_in: SignIn, orders: Queue
) -> None:
    due = timezone.now() + timedelta(hours=1)
    one = put("orders", deliver_at=due).message_id
    client = sign_in("operator")
    started(client, order(client, Kind.DELIVER, one))

    assert "It is ready on orders" in story(client, one)


def test_a_dead_letter_that_was_brought_back_is_one_again(
    sign_in: SignIn, orders: Queue
) -> None:
    letter = die(attempts=3)
    client = sign_in("operator")
    operation = plan(client)
    started(client, operation)
    copy = operation.items.get().copy_id
    assert copy is not None
    assert "continues as copy 2" in story(client, letter.message_id)

    undone(client, operation)

    seen = story(client, letter.message_id)
    assert "It is a dead letter on DLQ" in seen
    assert "continues as" not in seen
    assert "Put back on DLQ" in seen
    ended = story(client, copy)
    assert "It was taken back from orders" in ended
    assert "It is copy 1 again." in ended
    assert "It is a dead letter on DLQ" in story(client, letter.origin_id)


def test_an_order_is_no_attempt(sign_in: SignIn, orders: Queue) -> None:
    one = put("orders").message_id
    client = sign_in("operator")
    sent = order(client, Kind.DEAD_LETTER, one)
    started(client, sent)
    undone(client, sent)
    attempt("ValueError: no")

    assert "Attempt 1 of 3: backed out" in story(client, one)
