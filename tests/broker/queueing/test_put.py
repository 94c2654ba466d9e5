"""Sending: what is stored, where it goes, and with whose transaction."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest
from django.db import transaction

from broker.errors import InvalidMessage, MessageTooLarge, NoSuchAddress
from broker.models import Message, Place, Queue, RoutingType
from broker.queueing import journal
from broker.queueing.browse import browse, where_is
from broker.queueing.put import NewMessage, put, put_many
from tests.make import NOON, make_messages, make_queue, minutes


@pytest.mark.django_db
def test_a_message_arrives_as_it_was_sent() -> None:
    queue = make_queue()
    receipt = put(
        "orders",
        b"\x00\xff body",
        content_type="text/plain",
        properties={"tenant": "t7", "deep": {"er": [1, None]}},
        priority=7,
        message_id="ID:1",
        correlation_id="c",
        reply_to="answers",
        subject="new",
        group_id="g",
        producer="shop",
        now=NOON,
    )

    stored = Message.objects.get(pk=receipt.message_id)

    assert receipt.queue_ids == [queue.pk]
    assert bytes(stored.body) == b"\x00\xff body"
    assert stored.properties == {"tenant": "t7", "deep": {"er": [1, None]}}
    assert (stored.address, stored.priority, stored.put_at) == ("orders", 7, NOON)
    assert (stored.message_id, stored.correlation_id) == ("ID:1", "c")
    assert (stored.reply_to, stored.subject, stored.group_id) == ("answers", "new", "g")
    assert (stored.content_type, stored.producer) == ("text/plain", "shop")


@pytest.mark.django_db
def test_messages_sent_together_arrive_as_each_was_sent() -> None:
    queue = make_queue()
    plain = NewMessage("orders", b"plain")
    full = NewMessage(
        "orders",
        b"full",
        content_type="text/plain",
        properties={"tenant": "t7"},
        priority=7,
        durable=False,
        expires_at=NOON + minutes(5),
        message_id="ID:1",
        correlation_id="c",
        reply_to="answers",
        subject="new",
        group_id="g",
        producer="shop",
        routing_type=RoutingType.ANYCAST,
        descriptor={"msg_type": 8},
        headers=b"h",
    )
    sent = [plain, full, plain, full]

    receipts = put_many(sent, now=NOON)

    assert [as_sent(Message.objects.get(pk=one.message_id)) for one in receipts] == sent
    assert [one.queue_ids for one in receipts] == [[queue.pk]] * 4


def as_sent(stored: Message) -> NewMessage:
    """What arrived, as its sender would have made it."""
    named = {field.name for field in fields(NewMessage)} - {"deliver_at"}
    found = {name: getattr(stored, name) for name in named}
    found["body"] = bytes(stored.body)
    found["headers"] = stored.headers and bytes(stored.headers)
    return NewMessage(**found)


@pytest.mark.usefixtures("transactional_db")
def test_messages_sent_together_without_a_transaction_are_stored_all_or_none() -> None:
    queue = make_queue()
    invalid = NewMessage("orders", properties={"name": "\x00"})
    for sent in ([invalid], [NewMessage("orders"), invalid]):
        with pytest.raises(InvalidMessage):
            put_many(sent)

    assert not Message.objects.exists()
    assert journal.depths().get(queue.pk) is None

    put_many([NewMessage("orders"), NewMessage("orders", priority=9)])
    assert journal.depths()[queue.pk].ready == 2


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "price is nan, which JSON does not have"),
        ([{"a": float("inf")}], "price[0].a is inf, which JSON does not have"),
        (b"7", "bytes is not JSON serializable"),
    ],
)
@pytest.mark.usefixtures("db")
def test_a_property_that_is_no_json_is_named(value: Any, why: str) -> None:
    """Before the database sees it: the caller's transaction goes on."""
    make_queue()
    invalid = NewMessage("orders", properties={"price": value})
    for sent in ([invalid], [NewMessage("orders"), invalid]):
        with pytest.raises(InvalidMessage, match=re.escape(why)):
            put_many(sent)
    assert not Message.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_one_of_those_sent_together_that_no_queue_takes_keeps_no_other_back() -> None:
    queue = make_queue()
    sent = [
        NewMessage("orders", routing_type=asked)
        for asked in (RoutingType.MULTICAST, RoutingType.ANYCAST)
    ]

    assert [one.queue_ids for one in put_many(sent)] == [[], [queue.pk]]
    assert Message.objects.count() == 1


@pytest.mark.django_db
def test_a_put_is_part_of_the_caller_s_transaction() -> None:
    queue = make_queue()
    with pytest.raises(RuntimeError), transaction.atomic():
        put("orders")
        raise RuntimeError("the order could not be saved")

    assert browse(queue.pk, Place.READY) == []
    assert not Message.objects.exists()


@pytest.mark.django_db
def test_one_anycast_queue_takes_each_message_and_all_of_them_share() -> None:
    for name in ("one", "two", "three"):
        make_queue(name, address="orders")

    receipts = put_many(make_messages(30))

    assert all(len(receipt.queue_ids) == 1 for receipt in receipts)
    taken = [receipt.queue_ids[0] for receipt in receipts]
    assert sorted(taken.count(queue.pk) for queue in Queue.objects.all()) == [10] * 3


@pytest.mark.django_db
def test_every_multicast_queue_takes_each_message() -> None:
    queues = [
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
        for name in ("a", "b")
    ]
    receipt = put("news", b"once")

    places = where_is(receipt.message_id)
    assert [place.queue_id for place in places] == [queue.pk for queue in queues]
    assert Message.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("routing_type", "taken_by"),
    [
        (RoutingType.ANYCAST, ["one"]),
        (RoutingType.MULTICAST, ["all"]),
        (None, ["all", "one"]),
    ],
)
def test_a_sender_may_ask_for_a_routing_type(
    routing_type: RoutingType | None, taken_by: list[str]
) -> None:
    make_queue("one", address="news")
    make_queue("all", address="news", routing_type=RoutingType.MULTICAST)

    receipt = put("news", routing_type=routing_type)

    names = Queue.objects.filter(pk__in=receipt.queue_ids).values_list(
        "name", flat=True
    )
    assert sorted(names) == taken_by


@pytest.mark.django_db
def test_a_message_that_no_queue_takes_is_not_kept_and_its_receipt_says_so() -> None:
    make_queue().delete()

    assert put("orders").queue_ids == []
    assert not Message.objects.exists()


@pytest.mark.django_db
def test_an_unknown_address_refuses_the_message_and_all_that_were_sent_with_it() -> (
    None
):
    make_queue()
    with pytest.raises(NoSuchAddress, match="'odrers'"):
        put_many([NewMessage("orders"), NewMessage("odrers")])

    assert not Message.objects.exists()


@pytest.mark.django_db
def test_a_body_above_the_limit_is_refused(settings: Any) -> None:
    make_queue()
    settings.BROKER_MAX_MESSAGE_BYTES = 10

    assert put("orders", b"x" * 10).queue_ids
    with pytest.raises(MessageTooLarge, match="11 bytes"):
        put("orders", b"x" * 11)


@pytest.mark.django_db
def test_a_message_with_a_delivery_delay_waits() -> None:
    queue = make_queue()
    put("orders", deliver_at=NOON + minutes(1), now=NOON)
    put("orders", deliver_at=NOON - minutes(1), now=NOON)

    depth = journal.depths()[queue.pk]
    assert (depth.ready, depth.delayed) == (1, 1)


@pytest.mark.django_db
def test_receipts_come_in_the_order_of_the_messages() -> None:
    make_queue("a"), make_queue("b")
    messages = [NewMessage("ab"[i % 2], str(i).encode()) for i in range(2500)]

    receipts = put_many(messages)

    bodies = dict(Message.objects.values_list("id", "body"))
    assert [bytes(bodies[r.message_id]) for r in receipts] == [m.body for m in messages]
