"""What one connection may take, at its limit and beyond; the others notice nothing."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.events import Begun
from broker.amqp.protocol.frames import HEARTBEAT
from broker.amqp.protocol.performatives import Flow, Source, Target
from tests.amqp.course import said
from tests.amqp.listening import Listening, Wire, beside_a_good_client, listener
from tests.make import make_queue

MOST = 3
ROUND = (MOST - 1, MOST, MOST + 1, 10 * MOST)


@pytest.mark.parametrize("tried", ROUND)
def test_a_connection_has_so_many_sessions(transactional_db: None, tried: int) -> None:
    with beside_a_good_client(sessions=MOST) as here:
        client = here.client(container_id="greedy")
        assert client.connection.remote is not None
        client.connection.remote.channel_max = 65_535  # it does not care
        for _ in range(tried):
            client.connection.begin()
        client.send()

        if tried <= MOST:
            for _ in range(tried):
                client.expect(Begun)
        else:
            error = client.closed().error
            assert error is not None
            assert error.condition in (
                conditions.FRAMING_ERROR,
                conditions.NOT_ALLOWED,
                conditions.RESOURCE_LIMIT_EXCEEDED,
            )


@pytest.mark.parametrize("size", [511, 512, 1024, 1025, 10240])
def test_a_frame_has_so_many_bytes(transactional_db: None, size: int) -> None:
    with beside_a_good_client(frame_bytes=1024) as here:
        client = here.client(container_id="greedy")
        client.socket.sendall(size.to_bytes(4, "big") + b"\x02\0\0\0")
        client.socket.sendall(bytes(size - 8))

        error = client.closed().error
        assert error is not None
        assert (error.condition == conditions.FRAMING_ERROR) is (size > 1024)


@pytest.mark.parametrize("is_silent", [True, False])
def test_silence_ends_a_connection_and_heartbeats_keep_it(
    transactional_db: None, is_silent: bool
) -> None:
    make_queue("orders")
    with listener(idle_timeout_s=80) as here:
        client = here.client(container_id="slow")
        remote = client.connection.remote
        assert remote is not None
        assert remote.idle_time_out == 40_000
        for _ in range(5):
            here.later(30)
            if not is_silent:
                beat(here, client)
        if is_silent:
            error = client.closed().error
            assert error is not None
            assert error.condition == conditions.RESOURCE_LIMIT_EXCEEDED
        else:
            client.works()


def beat(here: Listening, client: Wire) -> None:
    """Send a heartbeat, and wait until it is heard."""
    (served,) = here.listener.clients
    silence = served.connection.heartbeats
    now_s = here.call(here.loop.time)
    client.socket.sendall(HEARTBEAT)
    here.until(lambda: silence.heard or silence.heard_at >= now_s)


def test_the_listener_sends_heartbeats_as_the_client_wants_them(
    here: Listening,
) -> None:
    client = here.dial()
    client.authenticate(here.user.username, here.password)
    client.open(container_id="wants", idle_time_out=500)
    beats = b""
    while len(beats) < 24:
        beats += client.socket.recv(1024)

    assert beats == bytes([0, 0, 0, 8, 2, 0, 0, 0]) * 3


def test_a_client_that_reads_nothing_takes_little_memory(
    transactional_db: None,
) -> None:
    """It asks for answers for ever, and does not take them."""
    with beside_a_good_client(unsent_bytes=10_000) as here:
        client = here.client(container_id="deaf")
        deaf = next(one for one in here.listener.clients if one.container_id == "deaf")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ours = deaf.transport.get_extra_info("socket")
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.connection.begin()
        client.send()
        client.socket.settimeout(0)
        asked = ECHO * 1000
        sent = 0

        def is_read_no_more() -> bool:
            """Between two turns of the listener: ask for more, as far as it goes."""
            nonlocal sent
            with suppress(BlockingIOError):
                sent += client.socket.send(asked[sent % len(ECHO) :])
            return not deaf.transport.is_reading()

        here.until(is_read_no_more)

        kept = here.call(deaf.transport.get_write_buffer_size)
        assert 10_000 < kept < 1_000_000
        client.drop()
        here.until(lambda: len(here.listener.clients) == 1)


ECHO = said(
    Flow(
        next_incoming_id=0,
        incoming_window=100,
        next_outgoing_id=0,
        outgoing_window=100,
        echo=True,
    )
)


@pytest.mark.parametrize("tried", ROUND)
def test_a_connection_has_so_many_endpoints(transactional_db: None, tried: int) -> None:
    with beside_a_good_client(endpoints=MOST) as here:
        client = here.client(container_id="greedy")
        session = client.connection.begin()
        client.expect(Begun)
        assert session.begin is not None
        session.begin.handle_max = 1000  # it does not care
        for number in range(tried):
            session.sender(str(number), Source(), Target("orders"))
        client.send()

        here.until(lambda: open_of(here, "greedy") in (None, min(tried, MOST)))
        assert (open_of(here, "greedy") is None) is (tried > MOST)


def open_of(here: Listening, name: str) -> int | None:
    """How many endpoints a client has that were accepted; None if it is gone."""
    for client in here.listener.clients:
        if client.container_id == name and not client.gone:
            return sum(one.context is not None for one in client.connection.endpoints())
    return None


def test_attaches_without_end_take_nothing_from_others(here: Listening) -> None:
    make_queue("orders")
    greedy, good = here.client(container_id="greedy"), here.client(container_id="good")
    session = greedy.connection.begin()
    greedy.expect(Begun)
    for number in range(1000):
        session.sender(str(number), Source(), Target("orders")).detach()
    greedy.send()

    began = time.monotonic()
    good.works()

    assert time.monotonic() - began < 20
