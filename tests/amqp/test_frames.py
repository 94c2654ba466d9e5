"""Frames are found in what comes in, however it is cut, and bounded.

Source: AMQP 1.0, part 2, section 2.3.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import FRAMING_ERROR, AmqpError
from broker.amqp.protocol.frames import (
    AMQP,
    AMQP_HEADER,
    HEARTBEAT,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    Frames,
    frame,
)

LARGEST = 512

Read = tuple[int, int, bytes]


def read(frames: Frames, data: bytes) -> list[Read]:
    return [
        (kind, channel, data[at:end])
        for kind, channel, data, at, end in frames.feed(data)
    ]


some = st.lists(
    st.tuples(
        st.sampled_from([AMQP, SASL]), st.integers(0, 2**16 - 1), st.binary(max_size=40)
    ),
    max_size=6,
)


@given(some, st.data())
def test_frames_are_found_however_their_bytes_come(
    sent: list[Read], data: st.DataObject
) -> None:
    stream = b"".join(frame(channel, body, kind=kind) for kind, channel, body in sent)
    frames, found = Frames(LARGEST), []
    while stream:
        size = data.draw(st.integers(1, 20))
        found += read(frames, stream[:size])
        stream = stream[size:]

    assert found == sent
    assert frames.rest() == b""


@given(some, st.integers(0, 6))
def test_who_stops_early_finds_the_rest(sent: list[Read], count: int) -> None:
    """What follows SASL's outcome is no frame but a protocol header."""
    stream = [frame(channel, body, kind=kind) for kind, channel, body in sent]
    frames = Frames(LARGEST)
    coming = frames.feed(b"".join(stream) + AMQP_HEADER)
    for _ in range(min(count, len(sent))):
        next(coming)

    assert frames.rest() == b"".join(stream[count:]) + AMQP_HEADER
    assert frames.rest() == b""


def test_a_frame_without_a_body_is_a_heartbeat() -> None:
    assert HEARTBEAT == b"\0\0\0\x08\x02\0\0\0"
    assert read(Frames(LARGEST), HEARTBEAT) == [(AMQP, 0, b"")]


def test_an_extended_head_is_passed_over() -> None:
    written = b"\0\0\0\x0e\x03\0\0\x05moreab"
    assert read(Frames(LARGEST), written) == [(AMQP, 5, b"ab")]


def test_the_largest_frame_is_read() -> None:
    body = bytes(LARGEST - 8)
    assert read(Frames(LARGEST), frame(1, body)) == [(AMQP, 1, body)]


@pytest.mark.parametrize(
    ("size", "offset"),
    [(0, 2), (7, 2), (LARGEST + 1, 2), (2**32 - 1, 2), (16, 0), (16, 1), (16, 5)],
)
def test_what_is_no_frame_is_refused_before_it_is_whole(size: int, offset: int) -> None:
    head = struct.pack(">IBBH", size, offset, 0, 0)
    frames = Frames(LARGEST)
    with pytest.raises(AmqpError) as caught:
        read(frames, frame(1, b"first") + head)
    assert caught.value.condition == FRAMING_ERROR


def test_frames_before_a_wrong_one_are_given() -> None:
    frames = Frames(LARGEST)
    coming = frames.feed(frame(1, b"first") + bytes(8))
    _, channel, data, at, end = next(coming)
    assert (channel, data[at:end]) == (1, b"first")
    with pytest.raises(AmqpError):
        next(coming)


def test_the_bound_may_change_between_frames() -> None:
    frames = Frames(LARGEST)
    coming = frames.feed(frame(0, b"open") + frame(1, bytes(LARGEST)))
    next(coming)
    frames.max_frame_size = 2 * LARGEST
    assert next(coming)[1] == 1


def test_what_is_not_whole_is_bounded_by_the_largest_frame() -> None:
    frames = Frames(LARGEST)
    written = frame(1, bytes(LARGEST - 8))
    for at in range(LARGEST - 1):
        assert read(frames, written[at : at + 1]) == []
        assert len(frames.data) < LARGEST


def test_the_headers_of_protocols() -> None:
    assert AMQP_HEADER == b"AMQP\x00\x01\x00\x00"
    assert TLS_HEADER == b"AMQP\x02\x01\x00\x00"
    assert SASL_HEADER == b"AMQP\x03\x01\x00\x00"
