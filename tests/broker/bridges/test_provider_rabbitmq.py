"""RabbitMQ as a source and as a target: the machine's own, and real messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker.bridges.providers.interface import Destination
from broker.bridges.providers.rabbitmq import RabbitMQSession
from broker.errors.bridges import SendRefused, WrongFactory
from broker.queueing.store import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges.rabbitmq_machine import bodies, take, waiting

pytestmark = machine.needed
MANY = 1000


@pytest.fixture
def orders() -> Iterator[Destination]:
    with machine.queue() as made:
        yield made


@pytest.fixture
def session() -> Iterator[RabbitMQSession]:
    with machine.session() as opened:
        yield opened


def sent_and_received(
    session: RabbitMQSession, orders: Destination, message: NewMessage
) -> NewMessage:
    assert session.send([message], orders) == [None]
    subscription = session.subscribe(orders)
    (received,) = take(subscription, 1)
    subscription.acknowledge([received])
    subscription.close()
    return received.message


@pytest.mark.spec("BRIDGE-1")
def test_a_thousand_messages_keep_their_order_both_ways(
    session: RabbitMQSession, orders: Destination
) -> None:
    sent = machine.numbered(orders, MANY)
    refused = [
        one for batch in (sent[:1], sent[1:]) for one in session.send(batch, orders)
    ]
    subscription = session.subscribe(orders, prefetch=300)

    got: list[bytes] = []
    while len(got) < MANY:
        batch = take(subscription, min(100, MANY - len(got)))
        subscription.acknowledge(batch)
        got += bodies(batch)

    assert refused == [None] * MANY
    assert got == [one.body for one in sent]
    subscription.close()
    assert waiting(orders) == 0


@pytest.mark.spec("BRIDGE-8")
def test_what_a_message_says_of_itself_arrives(
    session: RabbitMQSession, orders: Destination
) -> None:
    expires_at = datetime.now(UTC).replace(microsecond=123000) + timedelta(hours=1)
    sent = NewMessage(
        orders.name,
        b"<order/>",
        "application/xml",
        {"region": "north", "content-encoding": "identity"},
        priority=7,
        durable=False,
        expires_at=expires_at,
        message_id="ID:at-the-source",
        correlation_id="c-1",
        reply_to="answers",
        subject="Order",
        group_id="customer 5",
        producer="shop",
    )

    got = sent_and_received(session, orders, sent)

    assert got.message_id != sent.message_id
    sent.message_id = got.message_id
    assert got == sent


OF_EACH_TYPE: dict[str, Any] = {
    "true": True,
    "false": False,
    "byte": -128,
    "int": -(2**31),
    "long": 2**40,
    "shortest": -(2**63),
    "longest": 2**63 - 1,
    "double": 1.0,
    "tiny": 5e-324,
    "text": "Grüße \U0001f600",
    "empty": "",
    "nothing": None,
    "deep": {"list": [1, [2.5, None], {"x": "y"}], "long": 2**40},
}


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_properties_of_each_type_arrive_even_by_way_of_dead_letters(
    session: RabbitMQSession, kind: str
) -> None:
    with machine.queue({"x-queue-type": kind}) as dead:
        letters = {
            "x-queue-type": kind,
            "x-message-ttl": 1,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": dead.name,
        }
        with machine.queue(letters) as orders:  # RabbitMQ writes the table anew
            message = NewMessage(orders.name, b"", properties=OF_EACH_TYPE)
            assert session.send([message], orders) == [None]
            (received,) = take(session.subscribe(dead), 1)

            arrived = dict(received.message.properties)
            (death,) = arrived.pop("x-death")
            assert death["queue"] == orders.name
            assert {name for name in arrived if name.startswith("x-first-death")}
            for name, value in OF_EACH_TYPE.items():
                assert arrived[name] == value
                assert type(arrived[name]) is type(value)


def test_other_clients_see_the_usual_properties(
    session: RabbitMQSession, orders: Destination
) -> None:
    before = int(datetime.now(UTC).timestamp())
    session.send(
        [
            NewMessage(
                orders.name,
                b"text",
                "text/plain",
                {"n": 1},
                priority=3,
                correlation_id="c",
                reply_to="r",
                subject="s",
                expires_at=datetime.now(UTC) + timedelta(minutes=1),
            )
        ],
        orders,
    )

    with machine.looking() as channel:
        seen = channel.basic_get(orders.name, no_ack=True)

    properties = seen.properties
    assert seen.body == "text" or seen.body == b"text"
    assert properties["content_type"] == "text/plain"
    assert properties["delivery_mode"] == 2
    assert properties["priority"] == 3
    assert properties["correlation_id"] == "c"
    assert properties["reply_to"] == "r"
    assert properties["type"] == "s"
    assert properties["message_id"].startswith("ID:")
    assert before <= properties["timestamp"] <= before + 60
    assert 50_000 < int(properties["expiration"]) <= 60_000
    assert properties["application_headers"]["n"] == 1


def test_each_message_gets_an_id_of_its_own(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 50, message_id="ID:the same"), orders)

    received = take(session.subscribe(orders, prefetch=50), 50)

    assert len({one.message_id for one in received}) == 50
    assert all(one.message_id.startswith("ID:") for one in received)


@pytest.mark.parametrize("body", [b"", b"x", b"y" * 131_064, b"z" * 400_000], ids=len)
def test_bodies_of_any_length_arrive(
    session: RabbitMQSession, orders: Destination, body: bytes
) -> None:
    got = sent_and_received(session, orders, NewMessage(orders.name, body))

    assert got.body == body


def test_rabbitmq_drops_what_has_expired_there(
    session: RabbitMQSession, orders: Destination
) -> None:
    soon = datetime.now(UTC) + timedelta(milliseconds=100)
    session.send(
        [
            NewMessage(orders.name, b"soon", expires_at=soon),
            NewMessage(orders.name, b"later"),
        ],
        orders,
    )
    machine.until_waiting(orders, 1)

    assert bodies(take(session.subscribe(orders), 1)) == [b"later"]


def test_a_queue_with_priorities_gives_the_highest_first(
    session: RabbitMQSession,
) -> None:
    with machine.queue({"x-max-priority": 9}) as orders:
        session.send(
            [NewMessage(orders.name, bytes([n]), priority=n) for n in (1, 9, 4)], orders
        )

        received = take(session.subscribe(orders, prefetch=3), 3)

    assert [one.message.priority for one in received] == [9, 4, 1]


def test_a_message_that_no_queue_takes_is_refused_and_its_neighbours_are_not(
    session: RabbitMQSession, orders: Destination
) -> None:
    with machine.exchange("headers") as regions, machine.looking() as channel:
        channel.queue_bind(
            orders.name, regions.name, arguments={"x-match": "all", "region": "north"}
        )
        sent = machine.numbered(orders, 300)
        for one in sent:
            one.properties = {"region": "north"}
        sent[150].properties = {"region": "nowhere"}

        refused = session.send(sent, regions)

    assert [place for place, one in enumerate(refused) if one] == [150]
    assert isinstance(refused[150], SendRefused)
    assert "No queue is bound to the exchange" in str(refused[150])
    assert waiting(orders) == 299


def test_what_a_full_queue_does_not_take_is_refused(session: RabbitMQSession) -> None:
    limits = {"x-max-length": 2, "x-overflow": "reject-publish"}
    with machine.queue(limits) as orders:
        refused = [session.send([one], orders) for one in machine.numbered(orders, 4)]

        assert refused[:2] == [[None], [None]]
        assert "could not store it" in str(refused[3][0])


def test_a_queue_that_was_deleted_meanwhile_loses_nothing(
    session: RabbitMQSession, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 1), orders)
    with machine.looking() as channel:
        channel.queue_delete(orders.name)

    (refused,) = session.send(machine.numbered(orders, 1), orders)

    assert "any more" in str(refused)
    with pytest.raises(WrongFactory, match="There is no queue"):
        session.send(machine.numbered(orders, 1), orders)


def test_properties_that_do_not_fit_are_refused_alone(
    session: RabbitMQSession, orders: Destination
) -> None:
    sent = machine.numbered(orders, 4)
    sent[1].properties = {"long": "x" * 200_000}
    sent[2].properties = {"n" * 256: 1}

    refused = session.send(sent, orders)

    assert [bool(one) for one in refused] == [False, True, True, False]
    assert "in one frame" in str(refused[1])
    assert "longer than 255 bytes" in str(refused[2])
    assert waiting(orders) == 2


@pytest.mark.parametrize("name", ["CC", "BCC", "x-death"])
def test_a_property_that_rabbitmq_would_act_on_only_travels(
    session: RabbitMQSession, orders: Destination, name: str
) -> None:
    with machine.queue() as copies:
        message = NewMessage(orders.name, properties={name: [copies.name]})

        got = sent_and_received(session, orders, message)

        assert got.properties == {name: [copies.name]}
        assert waiting(copies) == 0
