"""RabbitMQ as a source and as a target: the machine's own, and real messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import amqp
import pytest

from broker.bridges.providers.interface import Destination
from broker.bridges.providers.rabbitmq import Session
from broker.errors.bridges import SendRefused, WrongFactory
from broker.storing import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges.rabbitmq_machine import bodies, take, waiting

pytestmark = machine.needed
MANY = 1000


@pytest.fixture
def orders() -> Iterator[Destination]:
    with machine.queue() as made:
        yield made


@pytest.fixture
def session() -> Iterator[Session]:
    with machine.session() as opened:
        yield opened


def sent_and_received(
    session: Session, orders: Destination, message: NewMessage
) -> NewMessage:
    assert session.send([message], orders) == [None]
    subscription = session.subscribe(orders)
    (received,) = take(subscription, 1)
    subscription.acknowledge([received])
    subscription.close()
    return received.message


@pytest.mark.spec("BRIDGE-1")
def test_a_thousand_messages_keep_their_order_both_ways(
    session: Session, orders: Destination
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
    session: Session, orders: Destination
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
    session: Session, kind: str
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
    session: Session, orders: Destination
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
    session: Session, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 50, message_id="ID:the same"), orders)

    received = take(session.subscribe(orders, prefetch=50), 50)

    assert len({one.message_id for one in received}) == 50
    assert all(one.message_id.startswith("ID:") for one in received)


@pytest.mark.parametrize("body", [b"", b"x", b"y" * 131_064, b"z" * 400_000], ids=len)
def test_bodies_of_any_length_arrive(
    session: Session, orders: Destination, body: bytes
) -> None:
    got = sent_and_received(session, orders, NewMessage(orders.name, body))

    assert got.body == body


def test_rabbitmq_drops_what_has_expired_there(
    session: Session, orders: Destination
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


def test_a_queue_with_priorities_gives_the_highest_first(session: Session) -> None:
    with machine.queue({"x-max-priority": 9}) as orders:
        session.send(
            [NewMessage(orders.name, bytes([n]), priority=n) for n in (1, 9, 4)], orders
        )

        received = take(session.subscribe(orders, prefetch=3), 3)

    assert [one.message.priority for one in received] == [9, 4, 1]


def test_a_message_that_no_queue_takes_is_refused_and_its_neighbours_are_not(
    session: Session, orders: Destination
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
    assert "No queue takes what is sent to the exchange" in str(refused[150])
    assert waiting(orders) == 299


def test_what_a_full_queue_does_not_take_is_refused(session: Session) -> None:
    limits = {"x-max-length": 2, "x-overflow": "reject-publish"}
    with machine.queue(limits) as orders:
        refused = [session.send([one], orders) for one in machine.numbered(orders, 4)]

        assert refused[:2] == [[None], [None]]
        assert "could not keep it" in str(refused[3][0])


def test_a_queue_that_was_deleted_meanwhile_loses_nothing(
    session: Session, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 1), orders)
    with machine.looking() as channel:
        channel.queue_delete(orders.name)

    (refused,) = session.send(machine.numbered(orders, 1), orders)

    assert "any more" in str(refused)
    with pytest.raises(WrongFactory, match="There is no queue"):
        session.send(machine.numbered(orders, 1), orders)


def test_properties_that_do_not_fit_are_refused_alone(
    session: Session, orders: Destination
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
    session: Session, orders: Destination, name: str
) -> None:
    with machine.queue() as copies:
        message = NewMessage(orders.name, properties={name: [copies.name]})

        got = sent_and_received(session, orders, message)

        assert got.properties == {name: [copies.name]}
        assert waiting(copies) == 0


def test_only_what_is_acknowledged_is_gone(
    session: Session, orders: Destination
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
    session: Session, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 100), orders)
    subscription = session.subscribe(orders, prefetch=100)

    subscription.acknowledge(take(subscription, 60))
    assert session.consuming is not None
    session.consuming.connection.transport.sock.close()

    machine.until_waiting(orders, 40)


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_what_is_released_comes_again_in_its_old_place(
    session: Session, kind: str
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
    session: Session, kind: str
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
    session: Session, orders: Destination
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
    session: Session, orders: Destination
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


def test_a_quorum_queue_tells_how_often_it_was_tried(session: Session) -> None:
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
    session: Session, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 10), orders)
    subscription = session.subscribe(orders, prefetch=3)

    received = take(subscription, 3)

    assert subscription.receive(10, 0.2) == []
    assert waiting(orders) == 7
    subscription.acknowledge(received)
    assert bodies(take(subscription, 3)) == [b"3", b"4", b"5"]


def test_nothing_comes_where_nothing_waits(
    session: Session, orders: Destination
) -> None:
    began = datetime.now(UTC)

    assert session.subscribe(orders).receive(10, 0.2) == []

    assert timedelta(seconds=0.15) < datetime.now(UTC) - began < timedelta(seconds=10)


def test_the_lag_is_what_nobody_has_acknowledged(
    session: Session, orders: Destination
) -> None:
    session.send(machine.numbered(orders, 10), orders)
    subscription = session.subscribe(orders, prefetch=4)
    received = take(subscription, 2)

    assert subscription.lag().messages == 10
    subscription.acknowledge(received)
    assert subscription.lag().messages == 8


def test_an_exchange_is_a_topic(session: Session) -> None:
    with machine.exchange("topic") as news:
        subscription = session.subscribe(news, prefetch=5)

        assert session.send([NewMessage(news.name, b"new")], news) == [None]

        assert bodies(take(subscription, 1)) == [b"new"]
        subscription.close()
        (refused,) = session.send([NewMessage(news.name)], news)
        assert "No queue takes" in str(refused)


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
    name = "backout.test.durable"
    with machine.exchange("fanout") as news, machine.looking() as channel:
        with machine.session() as session:
            session.subscribe(news, durable_name=name)
        with machine.session() as session:
            session.send([NewMessage(news.name, b"meanwhile")], news)

        with machine.session() as session:
            assert bodies(take(session.subscribe(news, durable_name=name), 1)) == [
                b"meanwhile"
            ]
        channel.queue_delete(name)


RAW: dict[str, Any] = {
    "a content type that is no text": b"\x80\x00\x01\xff",
    "a moment that never is": b"\x20\x00\x00\x00\x00\x0b\x01aT" + b"\xff" * 8,
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
def test_properties_that_nobody_can_decode_come_as_digits(
    session: Session, orders: Destination, raw: bytes
) -> None:
    message = amqp.Message(b"still here")
    message._serialize_properties = lambda: raw  # what a careless client sends
    with machine.looking() as channel:
        channel.basic_publish(message, routing_key=orders.name)

    (received,) = take(session.subscribe(orders), 1)

    assert received.message.body == b"still here"
    assert received.message.properties == {"x-backout-unreadable": raw.hex()}
