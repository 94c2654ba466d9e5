"""Bytes that no library would send, and some that one has sent, spoiled."""

from __future__ import annotations

import random
import socket
import struct

import pytest

from broker.queueing.put import put
from tests.amqp.listening import HOST, Listening, listener
from tests.amqp.putting import message, speaking

ROUNDS = 250
HEADER = b"AMQP\x00\x01\x00\x00"
SASL = b"AMQP\x03\x01\x00\x00"


@pytest.mark.case(27)
@pytest.mark.parametrize("said", [b"", SASL, SASL[:3]])
def test_who_does_not_log_in_is_closed(transactional_db: None, said: bytes) -> None:
    with listener(login_timeout_s=0.3) as here:
        wire = here.dial()
        wire.socket.sendall(said)
        wire.hung_up()
        wire.drop()
        here.until(lambda: not here.listener.clients)


@pytest.mark.case(27)
def test_who_falls_silent_is_closed(transactional_db: None) -> None:
    with listener(idle_timeout_s=60) as here:
        wire = here.client()
        for _ in range(2):  # at the first look, what came counts as of now
            here.later(60)
        assert b"amqp:resource-limit-exceeded" in wire.hung_up()
        wire.drop()
        here.until(lambda: not here.listener.clients)


@pytest.mark.case(30)
@pytest.mark.parametrize(
    "said", [HEADER, b"AMQP\x00\x00\x09\x01", b"GET / HTTP/1.1\r\n"]
)
def test_another_protocol_is_told_ours(here: Listening, said: bytes) -> None:
    wire = here.dial()
    wire.socket.sendall(said)
    assert wire.hung_up() == SASL


def recorded(here: Listening) -> tuple[bytes, bytes]:
    """What a client says that puts, gets and commits: the login, and the rest."""
    said: list[bytes] = []

    class Recording(socket.socket):
        def sendall(self, data: bytes) -> None:  # type: ignore[override]
            said.append(bytes(data))
            super().sendall(data)

    with speaking(here) as client:
        before = client.wire.socket
        recording = Recording(fileno=before.detach())
        recording.settimeout(10)
        client.wire.socket = recording
        sender, coordinator = client.sender("orders"), client.coordinator()
        client.ask(sender, message(b"x"))
        txn = client.declare(coordinator)
        receiver = client.receiver("orders", credit=2)
        client.get(receiver)
        client.discharge(coordinator, txn, fail=False)
    login = SASL + sasl_plain(here) + HEADER
    return login, b"".join(said)


def sasl_plain(here: Listening) -> bytes:
    response = f"\0{here.user.username}\0{here.password}".encode()
    fields = b"\xa3\x05PLAIN\xa0" + bytes([len(response)]) + response
    body = b"\x00\x53\x41\xc0" + bytes([len(fields) + 1, 2]) + fields
    return struct.pack(">IBBH", len(body) + 8, 2, 1, 0) + body


def spoiled(said: bytes, chance: random.Random) -> bytes:
    data = bytearray(said)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + chance.randrange(1, 9)]
            case 3:
                data[at:at] = chance.randbytes(chance.randrange(1, 9))
    return bytes(data)


@pytest.mark.case(30)
def test_spoiled_bytes_end_their_client_and_no_other(here: Listening) -> None:
    put("orders", b"1")
    login, said = recorded(here)
    opening = (
        struct.pack(">IBBH", 21, 2, 0, 0) + b"\x00\x53\x10\xc0\x08\x01\xa1\x05spoil"
    )
    chance = random.Random(20_261_122)
    with speaking(here) as other:
        for _ in range(ROUNDS):
            with socket.create_connection((HOST, here.port), timeout=5) as made:
                made.sendall(login + spoiled(opening + said, chance))
                made.shutdown(socket.SHUT_WR)
        here.until(lambda: len(here.listener.clients) == 1)

        other.ask(other.sender("answers"), message(b"still here"))

        (got,) = other.get(other.receiver("answers", credit=1))
        assert got.payload.endswith(b"still here")


@pytest.mark.case(30)
@pytest.mark.parametrize(
    "bomb",
    [
        b"\xf0\x00\x00\x00\x09\xff\xff\xff\xff\x40",  # four thousand million nulls
        b"\xd0\xff\xff\xff\xff\x00\x00\x00\x01\x40",
        b"\xc0\x03\x01" * 80,
        b"\xb0\xff\xff\xff\xff",
        b"\x00" * 200,
    ],
)
def test_a_bomb_ends_its_client_and_no_other(here: Listening, bomb: bytes) -> None:
    with speaking(here) as other:
        body = b"\x00\x53\x10\xd0" + struct.pack(">II", len(bomb) + 4, 1) + bomb
        wire = here.dial()
        frame = struct.pack(">IBBH", len(body) + 8, 2, 0, 0) + body
        wire.socket.sendall(SASL + sasl_plain(here) + HEADER + frame)
        assert b"amqp:decode-error" in wire.hung_up()

        assert other.sender("orders").attached
