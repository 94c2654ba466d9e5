"""What a stranger may send instead of values: reading it ends soon, with an error."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.performatives import decode_performative
from broker.amqp.protocol.sections import body_of, map_of, properties_of, split
from broker.amqp.protocol.types.decoding import DEPTH, decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Described, ULong
from tests.amqp.drawn import kept, or_refused, values

ZERO_WIDTH = [0x40, 0x41, 0x42, 0x43, 0x44, 0x45]


def refused(data: bytes, end: int | None = None) -> None:
    with pytest.raises(AmqpError) as caught:
        decode(data, 0, end)
    assert caught.value.condition == DECODE_ERROR
    assert caught.value.description


def array(count: int, code: int, body: bytes = b"") -> bytes:
    return struct.pack(">BIIB", 0xF0, 5 + len(body), count, code) + body


def nested(depth: int, innermost: bytes = b"\x45") -> bytes:
    for _ in range(depth):
        innermost = struct.pack(">BII", 0xD0, 4 + len(innermost), 1) + innermost
    return innermost


@pytest.mark.parametrize("code", ZERO_WIDTH)
@pytest.mark.parametrize("count", [2**32 - 1, 2**16, 6])
def test_t13_an_array_of_many_values_without_width_is_refused(
    count: int, code: int
) -> None:
    refused(array(count, code))
    refused(array(count, code) + b"\x40" * 1000, end=len(array(count, code)))
    refused(array(count, code, b"\x40" * 5))


def test_t13_arrays_in_a_list_cannot_share_its_bytes() -> None:
    bomb = array(60_000, 0x45)
    body = bomb * 6_000
    refused(struct.pack(">BII", 0xD0, 4 + len(body), 6_000) + body)


def test_t13_five_thousand_nested_lists_are_refused() -> None:
    refused(nested(5_000))
    refused(b"\xc0\xff\xff" * 5_000)


@pytest.mark.parametrize("length", [DEPTH + 1, 5_000, 100_000])
def test_t13_descriptions_of_descriptions_are_refused(length: int) -> None:
    refused(b"\x00" * length)
    refused(b"\x00\x53\x01" * length + b"\x40")


def test_t13_arrays_of_arrays_are_bounded_in_depth() -> None:
    body = b"\xf0" * 5_000
    refused(struct.pack(">BIIB", 0xF0, 5 + len(body), 1, 0xF0) + body)


def test_the_deepest_value_that_is_read() -> None:
    innermost, _ = decode(nested(DEPTH))
    for _ in range(DEPTH):
        (innermost,) = innermost
    assert innermost == []
    refused(nested(DEPTH + 1))


@pytest.mark.parametrize("head", [b"\xc0\x02", b"\xc1\x03"])
def test_t13_a_count_above_the_bytes_is_refused(head: bytes) -> None:
    refused(head + b"\xff\x40\x40")
    refused(b"\xd0\x00\x00\x00\x05\xff\xff\xff\xff\x40")
    refused(b"\xd1\x00\x00\x00\x06\xff\xff\xff\xfe\x40\x40")


@given(values, st.data())
def test_t13_a_value_that_crosses_the_end_is_refused(
    value: Any, data: st.DataObject
) -> None:
    written = encode(value)
    end = data.draw(st.integers(0, len(written) - 1))

    refused(written[:end])
    refused(written, end)


@given(values, st.data())
def test_a_list_is_no_longer_than_its_values(value: Any, data: st.DataObject) -> None:
    written = encode(value)
    size = len(written) + data.draw(st.integers(-len(written), 300))
    if size != len(written):
        wrong = struct.pack(">BII", 0xD0, 4 + size, 1) + written
        refused(wrong)
        refused(wrong + bytes(300), end=len(wrong))


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\x01",  # no constructor
        b"\xff\x00",
        b"\x56\x02",  # neither false nor true
        b"\x73\x00\x11\x00\x00",  # beyond Unicode
        b"\x73\x00\x00\xd8\x00",  # half a character
        b"\xa1\x02\xff\xfe",  # no UTF-8
        b"\xa1\x03\xed\xa0\x80",  # half a character
        b"\xa3\x02\xc3\xbc",  # no ASCII
        b"\xc0\x00\x00",  # no room for its count
        b"\xc0\x00",
        b"\xc1\x02\x01\x40",  # a key without a value
        b"\xc1\x04\x02\xc0\x01\x00\x40",  # of a list
        b"\xc1\x04\x02\x45\x40\x40",
        b"\xe0\x04\x01\x00\x40\x00",  # described twice
        b"\xe0\x01\x00",  # an array without a constructor
        b"\xe0\x03\x01\x01\x00",
    ],
)
def test_what_is_no_value_is_refused(written: bytes) -> None:
    refused(written)


def test_a_key_that_cannot_be_one_is_refused() -> None:
    for key in (b"\x45", b"\xc1\x01\x00", b"\xe0\x02\x00\xa3", b"\x00\x53\x01\x45"):
        refused(bytes((0xC1, len(key) + 2, 2)) + key + b"\x40")


def test_a_key_twice_is_refused() -> None:
    refused(b"\xc1\x09\x04\xa1\x01a\x40\xa1\x01a\x41")


def test_keys_that_are_equal_in_python_alone_are_no_reason_to_refuse() -> None:
    found, _ = decode(b"\xc1\x08\x04\x41\xa1\x01x\x52\x01\x40")
    assert found == {1: None}


def test_many_keys_with_one_hash_are_refused() -> None:
    """Their map would take the square of its length to build."""
    same = [UUID(int=number * (2**61 - 1)) for number in range(300)]
    assert len({hash(key) for key in same}) == 1

    refused(encode(dict.fromkeys(same)))
    assert decode(encode(dict.fromkeys(same[:200])))[0] == dict.fromkeys(same[:200])


def test_many_plain_keys_are_a_map() -> None:
    found = {f"key {number}": number for number in range(1000)}
    assert decode(encode(found))[0] == found


@given(st.binary(max_size=64))
@example(b"\xc0\x04\x02\xa1\xff\x40")
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    with or_refused():
        value, end = decode(data)
        assert 0 < end <= len(data)
        assert kept(decode(encode(value))[0]) == kept(value)


@given(st.binary(max_size=48), st.integers(0x10, 0x18))
def test_any_bytes_are_a_performative_or_an_error(data: bytes, code: int) -> None:
    data = bytes((0, 0x53, code)) + data
    with or_refused():
        _, end = decode_performative(data, 0, len(data))
        assert end <= len(data)


@given(st.lists(st.tuples(st.integers(0x70, 0x78), values), max_size=4), st.binary())
def test_any_sections_are_a_message_or_an_error(
    sections: list[tuple[int, Any]], tail: bytes
) -> None:
    payload = b"".join(
        encode(Described(ULong(code), value)) for code, value in sections
    )
    for data in (payload, payload + tail):
        with or_refused():
            found = split(data)
            properties_of(found.properties)
            map_of(found.annotations)
            map_of(found.application_properties)
            assert body_of(found.body).kind in ("data", "sequence", "value")
            assert isinstance(repr(body_of(found.body).value), str)


def test_t13_bombs_take_little_memory() -> None:
    tracemalloc.start()
    try:
        for bomb in (array(2**32 - 1, 0x40), nested(5_000), b"\0" * 60_000):
            refused(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
