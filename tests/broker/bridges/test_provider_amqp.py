"""The provider of AMQP against a listener of this broker: what it carries, and how."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker.amqp.messages import bodies as kinds
from broker.amqp.protocol.types.encoding import encode
from broker.bridges.providers import registry
from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.interface import Destination
from broker.errors.bridges import SendRefused, WrongFactory
from broker.models import Message, Ready
from broker.queueing.put import put_many
from broker.queueing.store import NewMessage
from tests.amqp.listening import Listening, listener
from tests.amqp.written import VALUE, annotated, application, came, properties, section
from tests.broker.bridges.amqp_sessions import (
    NEWS,
    ORDERS,
    STOCK,
    bodies,
    factory,
    nothing_comes,
    session,
    take,
)
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

MAP = {"a": 1, "b": [True, 2.5, "c"], "d": b"e"}


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    with listener() as listening:
        yield listening


@pytest.fixture
def ours(here: Listening) -> Iterator[AmqpSession]:
    """A session with a listener that has the queues orders and stock."""
    make_queue("orders")
    make_queue("stock")
    with session(factory(here.port)) as opened:
        yield opened


def waiting() -> list[int]:
    """The backout counts of what is ready, in its order."""
    return list(Ready.objects.order_by("pos").values_list("backout_count", flat=True))


def test_the_registry_connects_it(here: Listening) -> None:
    made = registry.connect(factory(here.port))
    assert made.capabilities == registry.PROVIDERS["amqp"].capabilities
    made.close()
    made.close()


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize(("count", "prefetch"), [(100, 1), (1000, 7), (1000, 250)])
def test_a_thousand_messages_pass_in_order(
    ours: AmqpSession, count: int, prefetch: int
) -> None:
    sent = make_messages(count)

    assert ours.send(sent, ORDERS) == [None] * count
    got = take(ours.subscribe(ORDERS, prefetch=prefetch), count, acknowledges=True)

    assert bodies(got) == [one.body for one in sent]
    assert [one.message_id for one in got] == ours.sent_ids
    assert not any(one.redelivered for one in got)
    until(lambda: not Ready.objects.exists())


def test_no_more_is_under_way_than_is_allowed(ours: AmqpSession) -> None:
    put_many(make_messages(20))
    source = ours.subscribe(ORDERS, prefetch=5)
    got = take(source, 5)
    assert nothing_comes(source)
    assert len(waiting()) == 15
    source.acknowledge(got[:2])
    assert bodies(take(source, 2)) == [b"6", b"7"]
    assert nothing_comes(source)


def mixed() -> list[NewMessage]:
    """Messages of every kind, some of which came by AMQP themselves."""
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    every: dict[str, Any] = {
        "text": "grün",
        "empty": "",
        "whole": 7,
        "negative": -(2**31),
        "long": 2**40,
        "real": 2.5,
        "yes": True,
        "no": False,
        "nothing": None,
    }
    by_amqp = [
        came(annotated(x_opt_mine=1) + section(VALUE, MAP)),
        came(properties(message_id=b"\1\2", content_type="x/y") + section(VALUE, [1])),
        came(application(every) + section(VALUE, "hello")),
    ]
    return [
        NewMessage("orders", b"\0\1\2"),
        NewMessage("orders", "grün".encode(), "text/plain; charset=utf-8"),
        NewMessage("orders", b'{"a": 1}', "application/json", properties=every),
        NewMessage("orders", b"", durable=False),
        NewMessage("orders", b"r", reply_to="answers", subject="type", group_id="g"),
        NewMessage("orders", b"e", expires_at=later),
        *(
            NewMessage("orders", b"c", correlation_id=one)
            for one in (
                "plain",
                "ID:1",
                "ID:AMQP_ULONG:18446744073709551615",
                "ID:AMQP_UUID:00112233-4455-6677-8899-aabbccddeeff",
                "ID:AMQP_BINARY:00FF",
            )
        ),
        *(NewMessage("orders", b"p", priority=priority) for priority in range(10)),
        *by_amqp,
    ]


def facts(message: NewMessage) -> dict[str, Any]:
    """All that a link must keep."""
    return {
        "body": message.body,
        "content type": message.content_type,
        "properties": dict(message.properties),
        "types": {name: type(value) for name, value in message.properties.items()},
        "priority": message.priority,
        "durable": message.durable,
        "expiry": message.expires_at,
        "correlation id": message.correlation_id,
        "reply to": message.reply_to,
        "type": message.subject,
        "group": message.group_id,
    }


@pytest.mark.spec("BRIDGE-8")
def test_messages_of_every_kind_come_back_equal(ours: AmqpSession) -> None:
    sent = mixed()
    source = ours.subscribe(ORDERS, prefetch=1)

    for message in sent:
        assert ours.send([message], ORDERS) == [None]
        (got,) = take(source, 1, acknowledges=True)
        assert facts(got.message) == facts(message)
        assert got.message.message_id == ours.sent_ids[0] != message.message_id


def test_a_map_keeps_its_bytes_on_the_way_there_and_back(ours: AmqpSession) -> None:
    sent = came(section(VALUE, MAP))
    ours.send([sent], ORDERS)
    (there,) = take(ours.subscribe(ORDERS), 1, acknowledges=True)
    ours.send([there.message], STOCK)
    (back,) = take(ours.subscribe(STOCK), 1, acknowledges=True)
    assert back.message.content_type == kinds.ENCODED
    assert back.message.body == b"\0\x53\x77" + encode(MAP)


def test_higher_priorities_come_first(ours: AmqpSession) -> None:
    ours.send([NewMessage("", b"%d" % one, priority=one) for one in range(10)], ORDERS)
    got = take(ours.subscribe(ORDERS, prefetch=10), 10)
    assert bodies(got) == [b"%d" % one for one in range(9, -1, -1)]


def test_what_has_a_time_to_live_is_stored_with_it(ours: AmqpSession) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=1)
    ours.send([NewMessage("", expires_at=soon), NewMessage("")], ORDERS)
    first, second = Message.objects.order_by("pk")
    assert first.expires_at is not None
    assert abs(first.expires_at - soon) < timedelta(seconds=5)
    assert second.expires_at is None


def test_a_selector_chooses_and_leaves_the_others(ours: AmqpSession) -> None:
    ours.send(
        [NewMessage("", b"%d" % n, properties={"n": n}) for n in range(6)], ORDERS
    )
    source = ours.subscribe(ORDERS, selector="n > 3", prefetch=10)
    assert bodies(take(source, 2, acknowledges=True)) == [b"4", b"5"]
    assert nothing_comes(source)
    assert len(waiting()) == 4


@pytest.mark.parametrize(
    ("destination", "wish", "why"),
    [
        (Destination("nowhere"), {}, r"queue:nowhere: .*amqp:not-found.*Create it"),
        (ORDERS, {"selector": "n >"}, "amqp:invalid-field"),
        (ORDERS, {"durable_name": "d"}, "to a topic"),
        (NEWS, {"durable_name": "d"}, "client id"),
    ],
)
def test_what_cannot_be_consumed_is_refused_with_a_sentence(
    ours: AmqpSession, destination: Destination, wish: dict[str, Any], why: str
) -> None:
    with pytest.raises(WrongFactory, match=why):
        ours.subscribe(destination, **wish)
    assert ours.send([NewMessage("")], ORDERS) == [None]  # and the session goes on


def test_an_unknown_target_is_refused_with_a_sentence(ours: AmqpSession) -> None:
    with pytest.raises(
        WrongFactory, match=r"queue:nowhere: .*Create it at the provider"
    ):
        ours.send(make_messages(2), Destination("nowhere"))
    assert ours.send(make_messages(2), ORDERS) == [None, None]


def test_a_message_that_is_too_large_costs_no_other_its_place() -> None:
    make_queue("orders")
    with listener(message_bytes=1000) as here, session(factory(here.port)) as ours:
        sent = [NewMessage("", b"1"), NewMessage("", bytes(2000)), NewMessage("", b"3")]

        first, second, third = ours.send(sent, ORDERS)

        assert first is third is None
        assert isinstance(second, SendRefused)
        assert "accepts at most 1,000" in str(second)
        assert bodies(take(ours.subscribe(ORDERS, prefetch=2), 2)) == [b"1", b"3"]


def test_a_queue_that_is_full_refuses_with_its_reason(ours: AmqpSession) -> None:
    make_queue("small", max_depth=2)
    answers = ours.send(make_messages(3), Destination("small"))
    assert answers[:2] == [None, None]
    assert isinstance(answers[2], SendRefused)
    assert "amqp:resource-limit-exceeded" in str(answers[2])


def test_what_amqp_cannot_hold_is_refused_alone(ours: AmqpSession) -> None:
    wrong = NewMessage("", b"x", properties={"n": "\ud800"})
    refused, sent = ours.send([wrong, NewMessage("", b"1")], ORDERS)
    assert isinstance(refused, SendRefused)
    assert "cannot be sent by AMQP" in str(refused)
    assert sent is None


@pytest.mark.spec("BRIDGE-19")
@pytest.mark.parametrize("prefetch", [3, 5, 20])
def test_what_is_released_comes_again_in_order(
    ours: AmqpSession, prefetch: int
) -> None:
    put_many(make_messages(12))
    source = ours.subscribe(ORDERS, prefetch=prefetch)
    got = take(source, 3)

    source.acknowledge(got[:1])
    source.release(got[1:])

    again = take(source, 11, acknowledges=True)
    assert bodies(again) == [b"%d" % number for number in range(2, 13)]
    assert not any(one.redelivered for one in again)


def test_a_failed_attempt_counts_and_the_others_do_not(ours: AmqpSession) -> None:
    put_many(make_messages(3))
    source = ours.subscribe(ORDERS, prefetch=3)
    got = take(source, 2)

    source.release(got[:1], failed=True)
    source.release(got[1:])

    again = take(source, 3)
    assert bodies(again) == [b"1", b"2", b"3"]
    assert [one.delivery_count for one in again] == [2, 1, 1]
    assert [one.redelivered for one in again] == [True, False, False]


@pytest.mark.spec("BRIDGE-18")
def test_while_it_is_paused_nothing_comes_and_others_can_take_all(
    here: Listening, ours: AmqpSession
) -> None:
    put_many(make_messages(10))
    source = ours.subscribe(ORDERS, prefetch=4)
    in_hand = take(source, 1)

    assert source.receive(0, 0.1) == []

    assert until(lambda: len(waiting()) == 9)
    source.acknowledge(in_hand)
    with session(factory(here.port)) as other:
        assert bodies(take(other.subscribe(ORDERS, prefetch=2), 2)) == [b"2", b"3"]
    until(lambda: len(waiting()) == 9)
    again = take(source, 9, acknowledges=True)
    assert bodies(again) == [b"%d" % number for number in range(2, 11)]


def test_closing_gives_back_what_was_not_acknowledged(ours: AmqpSession) -> None:
    put_many(make_messages(4))
    source = ours.subscribe(ORDERS, prefetch=3)
    source.acknowledge(take(source, 2)[:1])
    source.close()
    source.close()
    until(lambda: waiting() == [0, 0, 0])
    assert bodies(take(ours.subscribe(ORDERS, prefetch=3), 3)) == [b"2", b"3", b"4"]
