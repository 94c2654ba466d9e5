"""RabbitMQ out of reach, refusing, or cut off in the midst: what a link is told."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from broker.bridges.providers import rabbitmq_wire
from broker.bridges.providers.interface import Destination
from broker.bridges.providers.rabbitmq import RabbitMQSession, connect
from broker.errors.bridges import (
    AccessRefused,
    ProviderError,
    ProviderLost,
    WrongFactory,
)
from broker.queueing.store import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges.cutting import Cuttable
from tests.broker.bridges.rabbitmq_machine import bodies, factory, take
from tests.broker.bridges.rabbitmq_node import free_port

pytestmark = machine.needed


@pytest.fixture
def orders() -> Iterator[Destination]:
    with machine.queue() as made:
        yield made


@pytest.fixture
def session() -> Iterator[RabbitMQSession]:
    with machine.session() as opened:
        yield opened


@pytest.fixture
def wire() -> Iterator[Cuttable]:
    between = Cuttable(machine.PORT)
    yield between
    between.close()


REFUSED: dict[str, tuple[dict[str, Any], type[ProviderError], str]] = {
    "a wrong password": (
        {"username": "guest", "password": "not-this-one"},
        AccessRefused,
        "refuses this name and password",
    ),
    "a virtual host that does not exist": (
        {"url": f"amqp://127.0.0.1:{machine.PORT}/nowhere"},
        WrongFactory,
        "Create the virtual host there",
    ),
    "a certificate that does not exist": (
        {
            "url": f"amqps://127.0.0.1:{machine.PORT}",
            "properties": {"ca-file": "nowhere"},
        },
        WrongFactory,
        "property ca-file",
    ),
    "no encryption there": (
        {"url": f"amqps://127.0.0.1:{machine.PORT}"},
        ProviderLost,
        "is lost",
    ),
}


@pytest.mark.spec("BRIDGE-19")
@pytest.mark.parametrize(("fields", "error", "why"), REFUSED.values(), ids=REFUSED)
def test_who_cannot_connect_is_told_why(
    fields: dict[str, Any], error: type[ProviderError], why: str
) -> None:
    with pytest.raises(error, match=why) as refused:
        connect(factory(**{"connect_timeout_s": 2} | fields))

    assert type(refused.value) is error
    assert "not-this-one" not in str(refused.value)


def test_nobody_there_is_a_lost_provider() -> None:
    with pytest.raises(ProviderLost):
        connect(factory(free_port()))


def test_somebody_there_who_says_nothing_is_a_lost_provider() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ProviderLost, match="in time"),
    ):
        connect(factory(silent.getsockname()[1], connect_timeout_s=0.3))


def test_a_queue_that_does_not_exist_is_named(session: RabbitMQSession) -> None:
    nowhere = Destination("backout.test.nowhere")
    why = r"There is no queue 'backout.test.nowhere' at 127.0.0.1:5672.*create it there"

    with pytest.raises(WrongFactory, match=why):
        session.subscribe(nowhere)
    with pytest.raises(WrongFactory, match=why):
        session.send([NewMessage(nowhere.name)], nowhere)


def test_an_exchange_that_does_not_exist_is_named(session: RabbitMQSession) -> None:
    nowhere = Destination("backout.test.nowhere", is_topic=True)
    why = "There is no exchange 'backout.test.nowhere'"

    with pytest.raises(WrongFactory, match=why):
        session.subscribe(nowhere)
    with pytest.raises(WrongFactory, match=why):
        session.send([NewMessage(nowhere.name)], nowhere)


def test_what_was_not_found_leaves_the_rest_as_it_is(
    session: RabbitMQSession, orders: Destination
) -> None:
    subscription = session.subscribe(orders)
    nowhere = Destination("backout.test.nowhere")
    with pytest.raises(WrongFactory):
        session.subscribe(nowhere)
    with pytest.raises(WrongFactory):
        session.send([NewMessage(nowhere.name)], nowhere)

    assert session.send(machine.numbered(orders, 1), orders) == [None]
    assert bodies(take(subscription, 1)) == [b"0"]


def test_what_rabbitmq_cannot_do_is_refused(
    session: RabbitMQSession, orders: Destination
) -> None:
    with pytest.raises(WrongFactory, match="no message selectors"):
        session.subscribe(orders, selector="region = 'north'")
    for asked in (session.begin, session.commit):
        with pytest.raises(WrongFactory, match="no transactions"):
            asked()
    session.roll_back()
    assert session.in_doubt("link-") == []


def test_a_queue_deleted_under_a_subscription_is_told(session: RabbitMQSession) -> None:
    with machine.queue() as orders:
        subscription = session.subscribe(orders)

    with pytest.raises(ProviderLost, match="was deleted"):
        subscription.receive(1, 5)
    with pytest.raises(ProviderLost, match="was deleted"):
        subscription.lag()


@pytest.mark.spec("BRIDGE-20")
def test_a_cut_while_receiving_loses_nothing(
    wire: Cuttable, orders: Destination
) -> None:
    with machine.session() as session:
        session.send(machine.numbered(orders, 20), orders)
    with machine.session(wire.port) as session:
        subscription = session.subscribe(orders, prefetch=10)
        subscription.acknowledge(take(subscription, 5))
        take(subscription, 3)

        wire.cut()

        with pytest.raises(ProviderLost):
            take(subscription, 15)
        with pytest.raises(ProviderLost):
            subscription.acknowledge(take(subscription, 1))
        subscription.close()

    with machine.session() as session:
        again = take(session.subscribe(orders, prefetch=20), 15)
    assert bodies(again) == [str(number).encode() for number in range(5, 20)]
    assert again[0].redelivered


@pytest.mark.spec("BRIDGE-20")
def test_a_cut_between_sending_and_the_confirm_is_no_success(
    wire: Cuttable, orders: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.bridges.providers.rabbitmq_publishing.PATIENCE_S", 0.5)
    sent = machine.numbered(orders, 50)
    with machine.session(wire.port) as session:
        session.send([NewMessage(orders.name, b"before")], orders)
        wire.hold_answers()

        with pytest.raises(ProviderLost, match="in time"):
            session.send(sent, orders)
        machine.until_waiting(orders, 51)  # all had arrived, and nobody could know
        with pytest.raises(ProviderLost):
            session.send(sent, orders)
        wire.cut()

    with machine.session(wire.port) as session:
        assert session.send(sent, orders) == [None] * 50
        arrived = bodies(take(session.subscribe(orders, prefetch=101), 101))
    assert arrived[51:] == [one.body for one in sent]


@pytest.mark.spec("BRIDGE-20")
def test_a_cut_at_an_acknowledgement_is_no_success(
    wire: Cuttable, orders: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_wire, "PATIENCE_S", 0.5)
    with machine.session() as session:
        session.send(machine.numbered(orders, 10), orders)
    with machine.session(wire.port) as session:
        subscription = session.subscribe(orders, prefetch=10)
        received = take(subscription, 10)
        wire.hold_answers()

        with pytest.raises(ProviderLost, match="in time"):
            subscription.acknowledge(received)

    machine.until_waiting(orders, 0)


def test_a_lost_session_can_be_closed_and_closed_again(
    wire: Cuttable, orders: Destination
) -> None:
    session = connect(factory(wire.port))
    subscription = session.subscribe(orders)
    wire.cut()

    subscription.close()
    session.close()
    session.close()

    with pytest.raises(ProviderLost):
        session.send(machine.numbered(orders, 1), orders)
