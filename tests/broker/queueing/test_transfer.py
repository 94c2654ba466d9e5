"""Copies that the broker makes for others: what they end, and what they let be."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from broker import sql
from broker.models import DeadLetter, Kind, Message, Place, Queue, Ready, RoutingType
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.queueing.routing import route_to
from broker.queueing.transfer import Dress, Record, TakenEntry, copy
from tests.broker.dying import on
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.django_db

MOVE = Record(Kind.MOVE, Place.READY, actor="omar", now=NOON)


def take(queue: str = "orders") -> list[TakenEntry]:
    """Every entry of a queue, out of its place."""
    pk = Queue.objects.get(name=queue).pk
    rows = sql.run("take_queue", {"queue_id": pk, "limit": 1000})
    return sorted(
        (TakenEntry(*fields) for _, *fields in rows), key=lambda held: held.id
    )


def moved(*fields: Any, **rest: Any) -> list[Message]:
    """What all entries of "orders" become on an address; they are taken and moved."""
    with transaction.atomic():
        copies = copy(take(), *fields, **rest)
    return [Message.objects.get(pk=one.copy_id) for one in copies]


@pytest.mark.spec("COPY-1")
def test_a_move_tells_whence_and_is_no_death() -> None:
    make_queue("orders")
    make_queue("repair")
    dead = dict.fromkeys(("_BRK_DEATH_REASON", "_AMQ_ACTUAL_EXPIRY"), "long ago")
    receipt = put("orders", properties={"customer": 17} | dead, now=NOON)

    (message,) = moved("repair", MOVE)

    assert message.properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "orders",
        "_AMQ_ORIG_QUEUE": "orders",
        "_AMQ_ORIG_MESSAGE_ID": str(receipt.message_id),
    }
    assert not DeadLetter.objects.exists()
    assert journal.lifeline(receipt.message_id)[1].kind == Kind.MOVE
    assert fsck.violations() == []


@pytest.mark.spec("COPY-1")
def test_a_copy_that_ends_nothing_lets_the_entry_be() -> None:
    make_queue("orders")
    make_queue("repair")
    receipt = put("orders", now=NOON)
    (ready,) = Ready.objects.all()
    held = TakenEntry(ready.queue_id, ready.id, 4, 0, 0, None)

    (one,) = copy([held], "repair", Record(Kind.MOVE, None, now=NOON), ends=False)

    assert on("orders") == [receipt.message_id]
    assert on("repair") == [one.copy_id]
    kinds = [event.kind for event in journal.lifeline(receipt.message_id)]
    assert Kind.MOVE not in kinds
    assert fsck.violations() == []


def test_what_no_queue_takes_goes_back_uncounted() -> None:
    make_queue("orders")
    make_queue("big", address="repair", selector="amount > 100")
    put_many(
        [make_messages(1, properties={"amount": one})[0] for one in (1, 500, 2)],
        now=NOON,
    )

    (message,) = moved("repair", MOVE)

    assert message.properties["amount"] == 500
    assert len(on("orders")) == 2
    depth = journal.depths()[Queue.objects.get(name="orders").pk]
    assert (depth.done[Kind.MOVE], depth.done[Kind.RELEASE]) == (1, 2)
    assert fsck.violations() == []


def test_the_one_queue_that_is_meant_takes_it_whatever_its_selector() -> None:
    make_queue("orders")
    make_queue("big", address="repair", selector="amount > 100")
    make_queue("all", address="repair", routing_type=RoutingType.MULTICAST)
    put("orders", now=NOON)

    moved("repair", MOVE, only_queue="big")

    assert (len(on("big")), on("all")) == (1, [])


@pytest.mark.spec("COPY-4")
def test_a_letter_that_an_operator_sends_says_so() -> None:
    make_queue("orders")
    make_queue("DLQ", address="DLA", selector="_BRK_DEATH_REASON = 'OPERATOR'")
    put("orders", now=NOON)
    record = Record(Kind.DEAD_LETTER, Place.READY, now=NOON)

    (message,) = moved("DLA", record, cause=DeadLetter.Cause.OPERATOR)

    assert message.properties["_BRK_DEATH_REASON"] == "OPERATOR"
    assert message.properties["_BRK_DEATH_COUNT"] == 0
    assert DeadLetter.objects.get().cause == "OPERATOR"


@pytest.mark.spec("COPY-3")
def test_what_is_sent_back_tells_of_the_dead_letter_address() -> None:
    """To the kinds of queues that it once was for, where there are any."""
    make_queue("orders", address="trade")
    make_queue("EU", address="trade", routing_type=RoutingType.MULTICAST)
    make_queue("DLQ", address="DLA")
    sent = {"_AMQ_ORIG_ROUTING_TYPE": 0, "_AMQ_ORIG_ADDRESS": "trade"}
    put("DLA", properties=sent, now=NOON)
    record = Record(Kind.RESUBMIT, Place.READY, now=NOON)

    with transaction.atomic():
        (one,) = copy(take("DLQ"), "trade", record)

    message = Message.objects.get(pk=one.copy_id)
    assert message.routing_type == RoutingType.MULTICAST
    assert (on("orders"), on("EU")) == ([], [one.copy_id])
    assert message.properties["_AMQ_ORIG_ADDRESS"] == "DLA"
    assert message.properties["_AMQ_ORIG_QUEUE"] == "DLQ"
    assert message.properties["_BRK_RESUBMIT_COUNT"] == 1


def test_what_ibm_mq_s_rules_move_keeps_what_it_was() -> None:
    make_queue("orders")
    make_queue("back", selector="customer = 17 AND JMSExpiration > 0")
    until = NOON + minutes(5)
    sent = {"customer": 17, "_BRK_DEATH_REASON": "EXPIRED"}
    put("orders", properties=sent, expires_at=until, now=NOON)

    (message,) = moved("back", MOVE, dress=[Dress({"format": "MQHRF2"}, b"header")])

    assert (message.properties, message.expires_at) == (sent, until)
    assert bytes(message.headers or b"") == b"header"


def test_nothing_comes_of_nothing() -> None:
    make_queue("repair")
    assert copy([], "repair", MOVE) == []
    assert copy([], "nowhere", MOVE) == []
    assert route_to("nowhere").queues == []
