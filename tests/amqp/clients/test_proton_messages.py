"""Messages of proton, sent and got: nothing is lost of them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from broker.models import Message
from tests.amqp.clients.protons import connected, proton, reactor, utils
from tests.amqp.listening import Listening, listener

BODIES = [
    "text",
    "naïve – text",
    b"bytes\x00\xff",
    {"a": 1, "b": [1.5, None, True]},
    [1, "two", 3.0],
    None,
    5,
    "",
    b"",
]


@pytest.mark.case(1)
def test_bodies_survive(here: Listening) -> None:
    with connected(here) as client:
        for body in BODIES:
            client.put(body)
            (got,) = client.all()
            assert got.body == body  # bytes are a view, good until the next message


@pytest.mark.case(1)
def test_properties_survive(here: Listening) -> None:
    said: dict[str, Any] = {
        "id": "order-7",
        "correlation_id": uuid.uuid4(),
        "priority": 7,
        "ttl": 60.0,
        "subject": "apples",
        "reply_to": "answers",
        "content_type": "text/plain",
        "group_id": "g",
        "group_sequence": 3,
        "user_id": b"amelia",
        "creation_time": 1_700_000_000.0,
        "properties": {"tenant": "t7", "size": 3, "good": True, "rate": 1.5},
    }
    with connected(here) as client:
        client.put("x", **said)

        (got,) = client.all()

        assert {name: getattr(got, name) for name in said} == said | {"ttl": got.ttl}
        assert 50 < got.ttl <= 60
        assert got.durable
        assert not got.delivery_count


@pytest.mark.case(1)
def test_ids_keep_their_type(here: Listening) -> None:
    ids = [5, uuid.uuid4(), b"\x00\xff", "text"]
    with connected(here) as client:
        for one in ids:
            client.put("x", id=one, correlation_id=one)

        got = client.all()

        assert [one.id for one in got] == [one.correlation_id for one in got] == ids


@pytest.mark.case(2)
def test_many_sends_are_confirmed(here: Listening) -> None:
    with connected(here) as client:
        sender = client.sender()
        sent: list[Any] = []
        while len(sent) < 2000:
            client.until(lambda: sender.credit)
            count = min(sender.credit, 2000 - len(sent))
            sent += [sender.link.send(proton.Message(body=n)) for n in range(count)]

        client.until(lambda: all(one.settled for one in sent))

        assert {one.remote_state for one in sent} == {proton.Delivery.ACCEPTED}
        assert Message.objects.count() == 2000


@pytest.mark.case(3)
def test_a_settled_sender_puts(here: Listening) -> None:
    with connected(here) as client:
        sender = client.sender("orders", reactor.AtMostOnce())
        for number in range(10):
            sender.send(proton.Message(body=number))
        receiver = client.receiver(credit=10)

        got = [client.get(receiver) for _ in range(10)]

        assert [one.message.body for one in got] == list(range(10))


@pytest.mark.case(3)
def test_a_settled_receiver_gets_at_most_once(here: Listening) -> None:
    with connected(here) as client:
        client.put(1, 2, 3)
        receiver = client.receiver("orders", reactor.AtMostOnce(), credit=2)

        got = [client.get(receiver) for _ in range(2)]

        assert all(one.delivery is None for one in got)
        receiver.close()
        assert client.seen() == [3]


@pytest.mark.case(23)
def test_a_message_too_large_ends_the_sender_only(transactional_db: None) -> None:
    with listener(message_bytes=100_000) as here, connected(here) as client:
        sender = client.sender()
        assert sender.remote_max_message_size == 100_000

        with pytest.raises(utils.LinkDetached) as gone:
            sender.send(proton.Message(body=b"x" * 200_000))

        assert gone.value.condition == "amqp:link:message-size-exceeded"
        client.put("small")
        assert client.seen() == ["small"]


@pytest.mark.case(26)
def test_a_message_of_many_frames_is_intact(here: Listening) -> None:
    body = bytes(range(256)) * 2400
    with connected(here, max_frame_size=4096) as client:
        client.put(body)

        (got,) = client.all()

        assert got.body == body
