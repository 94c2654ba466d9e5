"""RabbitMQ as a source: what is acknowledged, released, and left; topics."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import amqp
import pytest

from broker.bridges.providers.interface import Destination
from broker.bridges.providers.rabbitmq import RabbitMQSession
from broker.queueing.store import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges.rabbitmq_machine import bodies, take, waiting

pytestmark = machine.needed


@pytest.fixture
def orders() -> Iterator[Destination]:
    with machine.queue() as made:
        yield made


@pytest.fixture
def session() -> Iterator[RabbitMQSession]:
    with machine.session() as opened:
        yield opened


def test_only_what_is_acknowledged_is_gone(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 10), orders)
    subscription = session.subscribe(orders, prefetch=10)
    first, second = take(subscription, 5), take(subscription, 5)

    subscription.acknowledge(second[1:3])
    subscription.acknowledge([first[0], first[1], first[4]])
    subscription.close()

    left = take(session.subscribe(orders, prefetch=10), 5)
    assert bodies(left) == [b"2", b"3", b"5", b"8", b"9"]
    assert all(one.redelivered for one in left)


def test_an_acknowledgement_has_arrived_when_it_returns(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 100), orders)
    subscription = session.subscribe(orders, prefetch=100)

    subscription.acknowledge(take(subscription, 60))
    assert session.consuming is not None
    session.consuming.connection.transport.sock.close()

    machine.until_waiting(orders, 40)


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_what_is_released_comes_again_in_its_old_place(
    session: RabbitMQSession, kind: str
) -> None:
    with machine.queue({"x-queue-type": kind}) as orders:
        session.send(machine.numbered(orders, 30), orders)
        subscription = session.subscribe(orders, prefetch=20)
        first = take(subscription, 10)
        subscription.acknowledge(first[:4])

        subscription.release(first[4:])

        again = take(subscription, 16)
        assert bodies(again) == [str(n).encode() for n in range(4, 20)]
        assert again[0].redelivered
        subscription.acknowledge(again)
        assert bodies(take(subscription, 10)) == [
            str(n).encode() for n in range(20, 30)
        ]


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_what_is_released_is_in_its_old_place_for_the_next(
    session: RabbitMQSession, kind: str
) -> None:
    with machine.queue({"x-queue-type": kind}) as orders:
        session.send(machine.numbered(orders, 30), orders)
        subscription = session.subscribe(orders, prefetch=20)
        subscription.release(take(subscription, 10))
        subscription.close()

        machine.until_waiting(orders, 30)
        again = take(session.subscribe(orders, prefetch=30), 30)
        assert bodies(again) == [str(n).encode() for n in range(30)]


def test_an_acknowledgement_does_not_take_what_was_released_before_it(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 12), orders)
    subscription = session.subscribe(orders, prefetch=9)
    first = take(subscription, 6)

    subscription.release([first[1], first[3]], failed=True)
    subscription.acknowledge([first[0], first[2], first[4], first[5]])
    (second,) = take(subscription, 1)
    subscription.close()

    assert second.message.body == b"1"
    machine.until_waiting(orders, 8)
    again = take(session.subscribe(orders, prefetch=9), 8)
    assert bodies(again) == [b"1", b"3", *(str(n).encode() for n in range(6, 12))]


def test_what_was_released_in_two_steps_keeps_its_order(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 6), orders)
    subscription = session.subscribe(orders, prefetch=6)
    first = take(subscription, 4)

    subscription.release([first[2]])
    subscription.release([first[0], first[1]])
    again = take(subscription, 2)
    subscription.acknowledge([again[1]])

    assert bodies(again) == [b"0", b"1"]
    assert bodies(take(subscription, 3)) == [b"2", b"4", b"5"]
    subscription.close()
    machine.until_waiting(orders, 5)


def test_a_quorum_queue_tells_how_often_it_was_tried(session: RabbitMQSession) -> None:
    with machine.queue({"x-queue-type": "quorum"}) as orders:
        session.send(machine.numbered(orders, 1), orders)
        first = session.subscribe(orders)
        (once,) = take(first, 1)
        first.close()
        second = session.subscribe(orders)
        (twice,) = take(second, 1)
        second.release([twice])
        (thrice,) = take(second, 1)

        counts = [one.delivery_count for one in (once, twice, thrice)]
        assert counts == [None, 2, 3]
        assert twice.message.properties == {}


def test_no_more_than_its_prefetch_is_under_way(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 10), orders)
    subscription = session.subscribe(orders, prefetch=3)

    received = take(subscription, 3)

    assert subscription.receive(10, 0.2) == []
    assert waiting(orders) == 7
    subscription.acknowledge(received)
    assert bodies(take(subscription, 3)) == [b"3", b"4", b"5"]


def test_nothing_comes_where_nothing_waits(
    session: RabbitMQSession, orders: Destination
) -> None:
    began = datetime.now(UTC)

    assert session.subscribe(orders).receive(10, 0.2) == []

    assert timedelta(seconds=0.15) < datetime.now(UTC) - began < timedelta(seconds=10)


def test_the_lag_is_what_nobody_has_acknowledged(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 10), orders)
    subscription = session.subscribe(orders, prefetch=4)
    received = take(subscription, 2)

    assert subscription.lag().messages == 10
    subscription.acknowledge(received)
    assert subscription.lag().messages == 8


def test_an_exchange_is_a_topic(session: RabbitMQSession) -> None:
    with machine.exchange("topic") as news:
        subscription = session.subscribe(news, prefetch=5)

        assert session.send([NewMessage(news.name, b"new")], news) == [None]

        assert bodies(take(subscription, 1)) == [b"new"]
        subscription.close()
        (refused,) = session.send([NewMessage(news.name)], news)
        assert "No queue is bound" in str(refused)


def test_a_binding_key_chooses_and_a_routing_key_is_what_it_chooses_by() -> None:
    asked = {"binding-key": "news.*", "routing-key": "news.sport"}
    with (
        machine.exchange("topic") as news,
        machine.session(properties=asked) as session,
    ):
        subscription = session.subscribe(news)
        session.send([NewMessage(news.name, b"sport")], news)
        with machine.looking() as channel:
            channel.basic_publish(amqp.Message("other"), news.name, "weather")

        assert bodies(take(subscription, 1)) == [b"sport"]
        assert subscription.lag().messages == 1


def test_a_queue_can_be_reached_by_another_exchange(orders: Destination) -> None:
    with machine.exchange("direct") as door, machine.looking() as channel:
        channel.queue_bind(orders.name, door.name, "in")
        asked = {"exchange": door.name, "routing-key": "in"}
        with machine.session(properties=asked) as session:
            assert session.send([NewMessage(orders.name)], orders) == [None]

    assert waiting(orders) == 1


def test_a_durable_subscription_keeps_what_comes_while_nobody_listens() -> None:
    with machine.exchange("fanout") as news, machine.looking() as channel:
        name = f"{news.name}.durable"
        with machine.session() as session:
            session.subscribe(news, durable_name=name)
        try:
            with machine.session() as session:
                session.send([NewMessage(news.name, b"meanwhile")], news)
            with machine.session() as session:
                (received,) = take(session.subscribe(news, durable_name=name), 1)
        finally:
            channel.queue_delete(name)

    assert received.message.body == b"meanwhile"


RAW: dict[str, Any] = {
    "a content type that is no text": b"\x80\x00\x01\xff",
    "a moment that never is": b"\x20\x00\x00\x00\x00\x0b\x01aT" + b"\xff" * 8,
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
def test_properties_that_nobody_can_decode_come_as_digits(
    session: RabbitMQSession, orders: Destination, raw: bytes
) -> None:
    message = amqp.Message(b"still here")
    message._serialize_properties = lambda: raw  # what a careless client sends
    with machine.looking() as channel:
        channel.basic_publish(message, routing_key=orders.name)

    (received,) = take(session.subscribe(orders), 1)

    assert received.message.body == b"still here"
    assert received.message.properties == {"x-backout-unreadable": raw.hex()}
