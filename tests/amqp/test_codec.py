"""The type system of AMQP: whatever is written is read as it was, and types are kept.

Source: AMQP 1.0, part 1, section 1.6.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import (
    Array,
    Char,
    Decimal32,
    Described,
    Float,
    Int,
    Symbol,
    UByte,
    UInt,
    ULong,
)
from tests.amqp.drawn import kept, scalars, spelled, spellings, values, within

BOOK = (
    b"\x00\xa3\x11example:book:list\xc0\x40\x03\xa1\x15AMQP for & by Dummies"
    b"\xe0\x25\x02\xa1\x0eRob J. Godfrey\x13Rafael H. Schloming\x40"
)


def read(data: bytes) -> Any:
    value, end = decode(data)
    assert end == len(data)
    return value


@given(values)
def test_what_is_written_is_read_as_it_was(value: Any) -> None:
    assert kept(read(encode(value))) == kept(value)


@given(st.data(), st.recursive(scalars, within, max_leaves=12))
def test_every_way_to_write_a_value_is_read(data: st.DataObject, value: Any) -> None:
    assert kept(read(data.draw(spelled(value)))) == kept(value)


@given(scalars)
def test_the_shortest_way_is_written(value: Any) -> None:
    assert encode(value) == min(spellings(value), key=len)


@given(values, st.binary(max_size=5), st.binary(max_size=5))
def test_a_value_is_read_amid_other_bytes(
    value: Any, before: bytes, behind: bytes
) -> None:
    written = encode(value)
    end = len(before) + len(written)

    found, at = decode(before + written + behind, len(before), end)

    assert at == end
    assert kept(found) == kept(value)


def test_the_example_of_the_standard() -> None:
    book = Described(
        Symbol("example:book:list"),
        [
            "AMQP for & by Dummies",
            Array(["Rob J. Godfrey", "Rafael H. Schloming"], 0xA1),
            None,
        ],
    )
    assert kept(read(BOOK)) == kept(book)
    assert encode(book) == BOOK


@pytest.mark.parametrize("kind", [list, dict])
def test_long_lists_and_maps_are_written_wide(kind: type) -> None:
    value: Any = list(range(300))
    if kind is dict:
        value = dict.fromkeys(value, "one")

    written = encode(value)

    assert written[0] == (0xD0 if kind is list else 0xD1)
    assert read(written) == value


@pytest.mark.parametrize("size", [252, 253, 254, 255, 256])
def test_lists_near_the_bound_of_the_short_form(size: int) -> None:
    value = ["x" * size]
    assert read(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ((Symbol("queue"), Symbol("topic")), 0xA3),
        ((Symbol("q" * 300),), 0xB3),
        (("orders",), 0xA1),
        ((b"x" * 256,), 0xB0),
        ((UInt(1), UInt(2)), 0x70),
        ((True, False), 0x56),
        (([1], ["a"]), 0xD0),
        ((), 0xA3),
        ((None,), 0x40),
    ],
)
def test_a_tuple_is_an_array_of_its_values_type(value: tuple, code: int) -> None:
    found = read(encode(value))
    assert kept(found) == kept(Array(value, code))


def test_an_array_of_constructors_that_hold_their_value_is_read() -> None:
    assert kept(read(b"\xe0\x02\x01\x41")) == kept(Array([True], 0x56))
    assert kept(read(b"\xe0\x02\x01\x45")) == kept(Array([[]], 0xD0))


@given(symbol=st.text("ab", max_size=3), number=st.integers(0, 5))
def test_own_types_equal_the_plain_values(symbol: str, number: int) -> None:
    assert {Symbol(symbol): ULong(number)} == {symbol: number}


def test_a_class_made_of_a_known_type_is_written_as_that() -> None:
    class Name(str):
        __slots__ = ()

    assert encode(Name("orders")) == encode("orders")


@pytest.mark.parametrize(
    "value",
    [
        UByte(256),
        UInt(-1),
        Int(2**31),
        2**63,
        Float(1e39),
        Symbol("Wünsche"),
        Char("ab"),
        Char("\ud800"),
        "\ud800",
        Decimal32(b"123"),
        object(),
        {1, 2},
        1j,
        Array([1, "a"]),
        Array([1, None]),
        Array([1], 0x40),
        Array([1], 0x41),
        Array([b"x"], 0x99),
        Array([5], 0xA0),
        Array([object()]),
        Array([Symbol("x" * 256)], 0xA3),
    ],
)
def test_what_amqp_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        encode(value)
    with pytest.raises(ValueError, match=r".+"):
        encode([value])


def test_a_list_in_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="cannot hold this list"):
        encode(endless)
