"""What brings other servers down, on the wire of ours."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.protocol.events import Detached
from broker.amqp.protocol.frames import frame
from broker.amqp.protocol.performatives import Transfer, encode_performative
from broker.models import Message
from tests.amqp.launching import HOST, launched, login
from tests.amqp.listening import Listening, Wire
from tests.amqp.putting import Speaker, condition, message, speaking
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

MIB = 2**20
AT_ONCE_S = 2.0
ZERO_WIDTH = b"\xf0" + struct.pack(">II", 5, 2**32 - 1) + b"\x40"
APPLICATION_PROPERTIES = b"\0\x53\x74"


def nested(depth: int) -> bytes:
    inner = b"\x45"
    for _ in range(depth):
        inner = b"\xd0" + struct.pack(">II", 4 + len(inner), 1) + inner
    return inner


BOMBS = {
    "four billion values without width": ZERO_WIDTH,
    "lists in lists": nested(5000),
    "a list of more than its bytes": b"\xd0" + struct.pack(">II", 4, 2**31),
    "a value that crosses the end": b"\xb1" + struct.pack(">I", 1000) + b"x",
    "descriptors of descriptors": bytes(5000),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_t13_a_frame_that_is_a_bomb_ends_its_connection_alone(
    here: Listening, bomb: bytes
) -> None:
    make_queue("orders")
    with speaking(here) as neighbour:
        sender = neighbour.sender("orders")
        attacker = here.client()
        fields = b"\xd0" + struct.pack(">II", 4 + len(bomb), 1) + bomb
        began = time.monotonic()

        attacker.socket.sendall(frame(0, b"\0\x53\x10" + fields))

        error = attacker.closed().error
        assert error is not None
        assert error.condition == c.DECODE_ERROR
        assert neighbour.ask(sender, message()) == p.Accepted()
        assert time.monotonic() - began < AT_ONCE_S


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_t13_a_message_that_is_a_bomb_is_rejected_alone(
    here: Listening, bomb: bytes
) -> None:
    make_queue("orders")
    with speaking(here) as client:
        sender = client.sender("orders")
        bad = APPLICATION_PROPERTIES + bomb + message()

        first, second, third = client.ask(sender, message(), bad, message())

        assert (first, third) == (p.Accepted(), p.Accepted())
        assert condition(second) == c.DECODE_ERROR
    assert Message.objects.count() == 2


@pytest.mark.thorough
def test_t14_a_message_without_end_is_cut_off_at_the_limit(tmp_path: Path) -> None:
    make_queue("orders")
    by = login()
    limit = {"BROKER_MAX_MESSAGE_BYTES": str(4 * MIB)}
    with launched(tmp_path / "log", **limit) as process:
        wire = Wire(socket.create_connection((HOST, process.port), timeout=10))
        wire.log_in(user=by[0], password=by[1])
        client = Speaker(wire)
        sender = client.sender("orders")
        before_mb = process.memory_mb

        for _ in range(32):  # twice the limit
            send_on(wire, sender, frames=16)
        error = wire.expect(Detached, endpoint=sender).error
        assert error is not None
        assert error.condition == c.MESSAGE_SIZE_EXCEEDED
        send_on(wire, sender, frames=1000)

        assert client.ask(client.sender("orders"), message()) == p.Accepted()
        assert process.memory_mb < before_mb + 12
        wire.close()
    assert process.troubles() == []


def send_on(wire: Wire, sender: Sender, *, frames: int) -> None:
    """More of one message, which is never whole."""
    part = Transfer(sender.handle, 0, b"endless", 0, more=True)
    data = frame(0, encode_performative(part) + bytes(16_000))
    wire.socket.sendall(data * frames)


def test_t15_a_window_is_as_many_small_messages_as_there_is_credit(
    here: Listening,
) -> None:
    make_queue("orders")
    with speaking(here) as client:
        sender = client.sender("orders")
        count = client.credit(sender, 100)
        payloads = [message(b"%d" % number) for number in range(count)]

        sent = []
        for number, payload in enumerate(payloads):
            assert client.session.can_send, f"the window is shut after {number}"
            sent.append(sender.send(payload, tag=b"%d" % number))
        client.wire.send()

        assert client.outcomes(sent) == [p.Accepted()] * count
