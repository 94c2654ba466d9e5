"""Connections: headers, opens, silence and closes."""

from __future__ import annotations

from math import inf

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.events import (
    Attached,
    Begun,
    Closed,
    Ended,
    Flowed,
    Opened,
)
from broker.amqp.protocol.frames import (
    AMQP_HEADER,
    HEARTBEAT,
    SASL_HEADER,
    TLS_HEADER,
    frame,
)
from broker.amqp.protocol.performatives import (
    Begin,
    Close,
    Open,
    SaslInit,
    Source,
    Target,
    encode_performative,
)
from tests.amqp.ends import Ends, RawClient, begun, byte_by_byte, of, opened


def test_a_client_may_say_everything_in_one_packet() -> None:
    client = Connection("client", is_server=False)
    client.open()
    session = client.begin()
    session.sender("put", Source("a"), Target("orders"))
    session.receiver("get", Source("orders"), Target("a")).grant(7)
    server = Connection("server", is_server=True)

    told = server.receive(client.outgoing())

    kinds = [type(event) for event in told]
    assert kinds == [Opened, Begun, Attached, Attached, Flowed]
    assert server.outgoing() == AMQP_HEADER  # nothing goes out before the open
    server.open()
    for event in of(Attached, told):
        event.endpoint.accept()
    told = client.receive(AMQP_HEADER + server.outgoing())
    kinds = [type(event) for event in told]
    assert kinds == [Opened, Begun, Attached, Attached]


def test_what_comes_byte_by_byte_is_the_same_as_what_comes_at_once() -> None:
    ends = Ends(cut=byte_by_byte)
    sender, receiver = ends.putting(ends.begin(), credit=2)
    sender.send(b"a" * 1000, tag=b"1")
    ends.run()

    assert [type(event) for event in ends.server_told][:3] == [Opened, Begun, Attached]
    assert receiver.credit == sender.credit == 1


def test_what_comes_in_any_two_pieces_is_the_same_as_what_comes_at_once() -> None:
    client = Connection("client", is_server=False)
    client.open(properties={"product": "test"})
    session = client.begin()
    session.sender("put", Source("a"), Target("orders"))
    data = client.outgoing()

    for at in range(len(data)):
        server = Connection("server", is_server=True)
        told = server.receive(data[:at]) + server.receive(data[at:])
        assert [type(event) for event in told] == [Opened, Begun, Attached]


@pytest.mark.parametrize("header", [SASL_HEADER, TLS_HEADER, b"GET / HTTP/1.1\r\n\r\n"])
def test_another_protocol_is_told_which_one_we_speak(header: bytes) -> None:
    server = Connection("server", is_server=True)

    (closed,) = server.receive(header)

    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.condition == conditions.FRAMING_ERROR
    assert server.outgoing() == AMQP_HEADER
    assert server.receive(AMQP_HEADER) == []
    assert server.outgoing() == b""


def test_another_protocol_is_known_by_its_first_other_byte() -> None:
    server = Connection("server", is_server=True)
    assert server.receive(b"AMQ") == []
    (closed,) = server.receive(b"X")
    assert isinstance(closed, Closed)


@pytest.mark.parametrize("late", [b"", AMQP_HEADER, SASL_HEADER])
def test_who_is_closed_before_its_header_is_sent_ours_first_and_once(
    late: bytes,
) -> None:
    server = Connection("server", is_server=True)

    server.close(AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, "The open is late."))
    server.receive(late)

    sent = server.outgoing()
    assert sent.startswith(AMQP_HEADER)
    assert sent.count(AMQP_HEADER) == 1
    assert b"amqp:resource-limit-exceeded" in sent


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1), "illegal"),
        (Close(), "illegal"),
        (SaslInit("PLAIN"), "not-allowed"),
        (Open("a", max_frame_size=511), "invalid-field"),
    ],
)
def test_what_cannot_come_first_closes(said: Begin, condition: str) -> None:
    client = RawClient()
    client.hear(AMQP_HEADER)
    client.say(said)
    assert condition in client.closed_for()


def test_a_connection_opens_once() -> None:
    client = opened()
    client.say(Open("again"))
    assert client.closed_for() == conditions.ILLEGAL_STATE


def test_a_peer_may_take_frames_of_512_bytes() -> None:
    assert opened(max_frame_size=512).server.frame_size == 512


@pytest.mark.parametrize(("size", "fits"), [(1023, True), (1024, True), (1025, False)])
def test_a_frame_may_be_as_large_as_we_said(size: int, fits: bool) -> None:
    client = opened(Limits(max_frame_size=1024))
    body = encode_performative(
        Begin(
            next_outgoing_id=0,
            incoming_window=1,
            outgoing_window=1,
            properties={"a": "b" * 500},
        )
    )
    body += bytes(size - 8 - len(body))
    told = client.hear(frame(0, body))
    assert isinstance(told[0], Begun) == fits


def test_a_frame_of_sasl_has_come_too_late() -> None:
    client = opened()
    client.hear(frame(0, encode_performative(SaslInit("PLAIN")), kind=1))
    assert client.closed_for() == conditions.FRAMING_ERROR


def test_a_server_that_will_not_open_says_so_in_its_open() -> None:
    client = Connection("client", is_server=False)
    client.open()
    server = Connection("server", is_server=True, properties={"product": "Backout"})
    server.receive(client.outgoing())

    server.close(AmqpError(conditions.INVALID_FIELD, "the name is taken"))

    opened, closed = client.receive(server.outgoing())
    assert isinstance(opened, Opened)
    assert opened.open.properties == {
        "product": "Backout",
        "amqp:connection-establishment-failed": True,
    }
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.condition == conditions.INVALID_FIELD


def test_whoever_closes_is_told_when_the_peer_has_closed_too() -> None:
    ends = Ends()
    session = ends.begin()
    sender, receiver = ends.putting(session, credit=3)

    ends.client.close()
    assert not ends.client.active
    assert not session.active
    assert sender.credit == 0
    ends.run()

    assert ends.server_told[-1] == ends.client_told[-1] == Closed(None, by_peer=True)
    assert receiver in ends.server.endpoints()
    assert receiver.gone


def test_what_the_peer_says_before_it_sees_our_close_is_not_heard() -> None:
    client = begun()
    client.server.close()
    told = client.say(
        Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1), channel=1
    )
    assert told == []
    assert client.say(Close()) == [Closed(None, by_peer=True)]


def test_a_fault_after_our_close_ends_it() -> None:
    client = begun()
    client.server.close()
    (closed,) = client.hear(bytes(8))
    assert isinstance(closed, Closed)
    assert len(client.heard_of(Close)) == 1


def test_nothing_is_heard_after_the_end() -> None:
    client = begun()
    client.say(Close())
    assert client.say(Open("again")) == []
    client.server.close()
    client.server.open()
    assert [type(said) for _, said in client.heard()] == [Close]


def test_what_is_too_large_for_the_peer_closes() -> None:
    client = opened(max_frame_size=512)
    client.begin().receiver("n" * 600, None, None)
    assert client.closed_told() == conditions.FRAME_SIZE_TOO_SMALL


def test_a_close_that_is_too_large_for_the_peer_loses_its_words() -> None:
    client = opened(max_frame_size=512)
    client.server.close(AmqpError(conditions.INTERNAL_ERROR, "x" * 600))
    (close,) = client.heard_of(Close)
    assert close.error == conditions.Error(conditions.INTERNAL_ERROR)


def test_the_peer_is_told_half_of_the_silence_we_bear() -> None:
    client = RawClient(idle_timeout_ms=60_000)
    client.hear(AMQP_HEADER)
    client.say(Open("client"))
    (said,) = client.heard_of(Open)
    assert said.idle_time_out == 30_000


def test_a_silent_peer_is_lost() -> None:
    client = RawClient(idle_timeout_ms=4_000)
    client.open()
    server = client.server
    assert server.tick(100.0) == 101.0
    client.hear(HEARTBEAT)
    assert server.tick(101.0) == 102.0  # heard
    assert server.tick(102.0) == 103.0
    assert server.tick(104.9) == 105.0
    assert server.tick(105.0) == inf

    (closed,) = server.receive(b"")
    assert isinstance(closed, Closed)
    assert not closed.by_peer
    assert closed.error is not None
    assert closed.error.condition == conditions.RESOURCE_LIMIT_EXCEEDED
    assert client.heard_of(Close)
    assert server.tick(106.0) == inf


def test_heartbeats_keep_a_quiet_connection() -> None:
    client = opened(idle_time_out=4_000)
    server = client.server
    assert server.tick(100.0) == 100.5
    assert server.tick(101.9) == 102.0
    assert server.outgoing() == b""
    assert server.tick(102.0) == 102.5
    assert server.outgoing() == HEARTBEAT
    assert server.tick(102.5) == 103.0  # it has gone out since the last look
    server.tick(104.4)
    assert server.outgoing() == b""
    server.tick(104.5)
    assert server.outgoing() == HEARTBEAT


def test_what_is_sent_anyway_saves_a_heartbeat() -> None:
    client = begun(idle_time_out=4_000)
    server = client.server
    server.tick(100.0)
    client.getting()
    assert server.outgoing()
    server.tick(101.0)
    assert server.tick(102.5) < inf
    assert server.outgoing() == b""
    server.tick(103.0)
    assert server.outgoing() == HEARTBEAT


def test_a_peer_cannot_ask_for_a_heartbeat_each_millisecond() -> None:
    client = opened(idle_time_out=1)
    assert client.server.tick(100.0) >= 100.05


def test_without_time_outs_the_clock_is_not_looked_at() -> None:
    assert opened().server.tick(100.0) == inf


def test_a_session_that_the_client_ends_is_answered() -> None:
    ends = Ends()
    session = ends.begin()
    session.end(AmqpError(conditions.INTERNAL_ERROR, "tired"))
    ends.run()
    (ended,) = of(Ended, ends.server_told)
    assert ended.error == conditions.Error(conditions.INTERNAL_ERROR, "tired")
    assert of(Ended, ends.client_told) == [Ended(session, None)]
    assert ends.client.sessions == ends.server.sessions == []
