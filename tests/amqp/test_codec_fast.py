"""Transfers, flows and dispositions are read and written by a way of their own, which
gives what the general way gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.fast_performatives import READERS, UNUSUAL, WRITERS
from broker.amqp.protocol.performatives import (
    Accepted,
    Disposition,
    Flow,
    Released,
    Transfer,
    decode_performative,
    encode_performative,
    transfer_head,
)
from broker.amqp.protocol.types.composites import decode_composite, encode_composite
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Described, Symbol, UInt, ULong
from tests.amqp.composites_drawn import of, uints
from tests.amqp.drawn import spelled

hot = st.one_of(*[of(cls) for cls in WRITERS])


@given(hot)
def test_the_fast_way_writes_the_same(performative: Any) -> None:
    written = encode_performative(performative)
    assert written == encode_composite(performative)
    assert decode_performative(written, 0, len(written)) == (
        performative,
        len(written),
    )


states = st.sampled_from(
    [Described(ULong(0x24), []), Described(Symbol("amqp:accepted:list"), [])]
)
usual = st.none() | st.booleans() | uints.map(UInt) | st.binary(max_size=40) | states


@given(st.data(), st.sampled_from(sorted(READERS)), st.lists(usual, max_size=12))
def test_the_fast_way_reads_the_same(
    data: st.DataObject, code: int, values: list[Any]
) -> None:
    written = data.draw(spelled(Described(ULong(code), values)))
    check_both_ways(written, len(written))
    check_both_ways(written + b"\x40\x41\x42\x43", len(written))
    check_both_ways(written, data.draw(st.integers(0, len(written))))


@given(hot, st.data())
def test_the_fast_way_reads_the_same_of_what_was_spoilt(
    performative: Any, data: st.DataObject
) -> None:
    written = bytearray(encode_performative(performative))
    at = data.draw(st.integers(0, len(written) - 1))
    written[at] = data.draw(st.sampled_from([0, 0x40, 0x41, 0x43, 0x52, 0x70, 255]))
    check_both_ways(bytes(written), len(written))


def check_both_ways(written: bytes, end: int) -> None:
    try:
        expected = decode_composite(written, 0, end)
    except AmqpError:
        with pytest.raises(AmqpError):
            decode_performative(written, 0, end)
    else:
        if type(expected[0]) in WRITERS:
            assert decode_performative(written, 0, end) == expected


TRANSFER = b"\x00\x53\x14\xc0\x0c\x06\x43\x52\x07\xa0\x03tag\x43\x42\x41"
FLOW = b"\x00\x53\x13\xc0\x0c\x07\x40\x52\x03\x52\x04\x52\x05\x43\x40\x52\x64"
DISPOSITION = b"\x00\x53\x15\xc0\x0b\x05\x41\x52\x01\x52\x02\x41\x00\x53\x24\x45"
DRAINED = b"\x00\x53\x13\xc0\x0b\x09\x40\x43\x43\x43\x43\x52\x09\x43\x40\x41"
ECHO = b"\x00\x53\x13\xc0\x0b\x0a\x40\x43\x43\x43\x40\x40\x40\x40\x40\x41"
USUAL = [
    (TRANSFER, Transfer(0, 7, b"tag", 0, settled=False, more=True)),
    (
        FLOW,
        Flow(
            incoming_window=3,
            next_outgoing_id=4,
            outgoing_window=5,
            handle=0,
            link_credit=100,
        ),
    ),
    (
        DRAINED,
        Flow(
            incoming_window=0,
            next_outgoing_id=0,
            outgoing_window=0,
            handle=0,
            delivery_count=9,
            link_credit=0,
            drain=True,
        ),
    ),
    (
        ECHO,
        Flow(incoming_window=0, next_outgoing_id=0, outgoing_window=0, echo=True),
    ),
    (
        DISPOSITION,
        Disposition(role=True, first=1, last=2, settled=True, state=Accepted()),
    ),
]


@pytest.mark.parametrize(("written", "performative"), USUAL)
def test_the_usual_ones_go_the_fast_way(written: bytes, performative: Any) -> None:
    assert READERS[written[2]](written, 0, len(written)) == (
        performative,
        len(written),
    )
    assert WRITERS[type(performative)](performative) == written
    assert decode_composite(written, 0, len(written))[0] == performative


@pytest.mark.parametrize(("written", "performative"), USUAL)
def test_the_fast_way_refuses_what_goes_behind_its_end(
    written: bytes, performative: Any
) -> None:
    for end in range(len(written)):
        with pytest.raises(UNUSUAL):
            READERS[written[2]](written, 0, end)


@pytest.mark.parametrize(("written", "performative"), USUAL)
def test_any_byte_that_is_wrong_is_read_the_same_both_ways(
    written: bytes, performative: Any
) -> None:
    for at in range(len(written)):
        for byte in range(256):
            spoilt = written[:at] + bytes((byte,)) + written[at + 1 :]
            check_both_ways(spoilt, len(spoilt))
            check_both_ways(spoilt + b"\x40\x41\x42\x43", len(spoilt))


@pytest.mark.parametrize("length", [31, 32, 33, 200])
def test_a_tag_that_is_too_long_is_refused_both_ways(length: int) -> None:
    values = [UInt(0), UInt(1), b"x" * length, UInt(0)]
    written = encode(Described(ULong(0x14), values))
    check_both_ways(written, len(written))


@pytest.mark.parametrize(
    "unusual",
    [
        Transfer(0, 1, b"", 0, batchable=True),
        Transfer(0, 1, b"", 0, rcv_settle_mode=1),
        Transfer(0, more=True),
        Disposition(role=False, first=1, state=Released()),
        Disposition(role=False, first=1, state=Accepted(), batchable=True),
        Flow(incoming_window=0, next_outgoing_id=0, outgoing_window=0, properties={}),
    ],
)
def test_the_unusual_is_left_to_the_general_way(unusual: Any) -> None:
    with pytest.raises(UNUSUAL):
        WRITERS[type(unusual)](unusual)
    written = encode_performative(unusual)
    assert written == encode_composite(unusual)
    assert decode_performative(written, 0, len(written))[0] == unusual


def test_a_head_without_a_transfer_is_the_same() -> None:
    head = transfer_head(3, 1000, b"x" * 16, settled=False)
    transfer = Transfer(3, 1000, b"x" * 16, 0, settled=False)
    assert head == encode_composite(transfer)
