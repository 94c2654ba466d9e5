"""Values of AMQP's type system as Hypothesis draws them, and as they can be written.

What is written here is by a table from the standard, not by the encoder that it tests.
"""

from __future__ import annotations

import math
import string
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.types.types import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

WHOLE: dict[type[int], tuple[int, int]] = {
    UByte: (0, 2**8),
    UShort: (0, 2**16),
    UInt: (0, 2**32),
    ULong: (0, 2**64),
    Byte: (-(2**7), 2**7),
    Short: (-(2**15), 2**15),
    Int: (-(2**31), 2**31),
    int: (-(2**63), 2**63),
    Timestamp: (-(2**63), 2**63),
}


def of(kind: type[int]) -> st.SearchStrategy[int]:
    least, below = WHOLE[kind]
    near = st.integers(max(least, -200), min(below - 1, 300))
    return (near | st.integers(least, below - 1)).map(kind)


texts = st.text(max_size=8) | st.text("ü", min_size=120, max_size=140)
symbols = st.text(string.printable, max_size=8).map(Symbol)
descriptors = of(ULong) | symbols

SCALARS: dict[type, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    **{kind: of(kind) for kind in WHOLE},
    float: st.floats(),
    Float: st.floats(width=32).map(Float),
    Char: st.characters(exclude_categories=["Cs"]).map(Char),
    UUID: st.uuids(),
    bytes: st.binary(max_size=8) | st.binary(min_size=250, max_size=260),
    str: texts,
    Symbol: symbols,
    Decimal32: st.binary(min_size=4, max_size=4).map(Decimal32),
    Decimal64: st.binary(min_size=8, max_size=8).map(Decimal64),
    Decimal128: st.binary(min_size=16, max_size=16).map(Decimal128),
}
scalars = st.one_of(*SCALARS.values())
keys = st.one_of(*[SCALARS[kind] for kind in SCALARS if kind not in (float, Float)])


def arrays(code: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Array]:
    return st.builds(
        Array,
        st.lists(values, max_size=5),
        st.just(code),
        st.none() | descriptors,
    )


ARRAYS = st.one_of(
    arrays(0x56, st.booleans()),
    arrays(0x50, of(UByte)),
    arrays(0x51, of(Byte)),
    arrays(0x60, of(UShort)),
    arrays(0x61, of(Short)),
    arrays(0x70, of(UInt)),
    arrays(0x71, of(Int)),
    arrays(0x80, of(ULong)),
    arrays(0x81, of(int)),
    arrays(0x83, of(Timestamp)),
    arrays(0x52, st.integers(0, 255).map(UInt)),
    arrays(0x53, st.integers(0, 255).map(ULong)),
    arrays(0x54, st.integers(-128, 127).map(Int)),
    arrays(0x55, st.integers(-128, 127)),
    arrays(0x72, SCALARS[Float]),
    arrays(0x82, SCALARS[float]),
    arrays(0x73, SCALARS[Char]),
    arrays(0x98, SCALARS[UUID]),
    arrays(0x74, SCALARS[Decimal32]),
    arrays(0x84, SCALARS[Decimal64]),
    arrays(0x94, SCALARS[Decimal128]),
    arrays(0xA0, st.binary(max_size=8)),
    arrays(0xB0, SCALARS[bytes]),
    arrays(0xA1, st.text(max_size=8)),
    arrays(0xB1, texts),
    arrays(0xA3, symbols),
    arrays(0xB3, symbols),
    arrays(0xC0, st.lists(st.text(max_size=3), max_size=3)),
    arrays(0xD0, st.lists(scalars, max_size=3)),
    arrays(0xD1, st.dictionaries(symbols, scalars, max_size=3)),
    arrays(0xF0, arrays(0xA3, symbols)),
)


def within(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(values, max_size=5)
        | st.dictionaries(keys, values, max_size=5)
        | st.builds(Described, descriptors, values)
    )


values = st.recursive(scalars | ARRAYS, within, max_leaves=12)


def kept(value: Any) -> Any:
    """What must survive: the value with its type, and those of all that it holds."""
    held = value
    if isinstance(value, Array):
        held = value.code, kept(value.descriptor), [kept(one) for one in value]
    elif isinstance(value, list):
        held = [kept(one) for one in value]
    elif isinstance(value, dict):
        held = [(kept(key), kept(one)) for key, one in value.items()]
    elif isinstance(value, Described):
        held = kept(value.descriptor), kept(value.value)
    elif isinstance(value, float):
        held = "nan" if math.isnan(value) else struct.pack(">d", value)
    return type(value).__name__, held


@contextmanager
def or_refused() -> Iterator[None]:
    """What is within may be refused as what cannot be read, but in no other way."""
    try:
        yield
    except AmqpError as error:
        if error.condition != DECODE_ERROR or not error.description:
            raise


# How values can be written. -----------------------------------------------------------

Spelling = tuple[int, str, Callable[[Any], bool]]  # constructor, layout, whether it may


def always(value: Any) -> bool:
    return True


def short(value: int) -> bool:
    return -128 <= value < 128


def small(value: int) -> bool:
    return 0 <= value < 256


SPELLINGS: dict[type, list[Spelling]] = {
    type(None): [(0x40, "", always)],
    bool: [
        (0x41, "", lambda value: value is True),
        (0x42, "", lambda value: value is False),
        (0x56, ">B", always),
    ],
    UByte: [(0x50, ">B", always)],
    UShort: [(0x60, ">H", always)],
    UInt: [
        (0x43, "", lambda value: value == 0),
        (0x52, ">B", small),
        (0x70, ">I", always),
    ],
    ULong: [
        (0x44, "", lambda value: value == 0),
        (0x53, ">B", small),
        (0x80, ">Q", always),
    ],
    Byte: [(0x51, ">b", always)],
    Short: [(0x61, ">h", always)],
    Int: [(0x54, ">b", short), (0x71, ">i", always)],
    int: [(0x55, ">b", short), (0x81, ">q", always)],
    Float: [(0x72, ">f", always)],
    float: [(0x82, ">d", always)],
    Timestamp: [(0x83, ">q", always)],
}
SIZED: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    bytes: (0xA0, bytes),
    str: (0xA1, str.encode),
    Symbol: (0xA3, str.encode),
}
WHOLE_BYTES: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    Char: (0x73, lambda value: struct.pack(">I", ord(value))),
    UUID: (0x98, lambda value: value.bytes),
    Decimal32: (0x74, bytes),
    Decimal64: (0x84, bytes),
    Decimal128: (0x94, bytes),
}


def spellings(value: Any) -> list[bytes]:
    """All ways to write a value that holds no others."""
    kind = type(value)
    if kind in SIZED:
        code, to_bytes = SIZED[kind]
        data = to_bytes(value)
        short_one = [bytes((code, len(data))) + data] if len(data) < 256 else []
        return [*short_one, struct.pack(">BI", code + 0x10, len(data)) + data]
    if kind in WHOLE_BYTES:
        code, to_bytes = WHOLE_BYTES[kind]
        return [bytes((code,)) + to_bytes(value)]
    return [
        bytes((code,)) + (struct.pack(layout, value) if layout else b"")
        for code, layout, may in SPELLINGS[kind]
        if may(value)
    ]


def bundles(code: int, written: list[bytes]) -> list[bytes]:
    """All ways to write a list, of code 0xC0, or a map of these."""
    body = b"".join(written)
    found = [struct.pack(">BII", code + 0x10, len(body) + 4, len(written)) + body]
    if len(body) < 255 and len(written) < 256:
        found.append(bytes((code, len(body) + 1, len(written))) + body)
    if code == 0xC0 and not written:
        found.append(b"\x45")
    return found


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> bytes:
    """A value as it may be written by a stranger; but for arrays."""

    def one(value: Any) -> bytes:
        if isinstance(value, Described):
            return b"\0" + one(value.descriptor) + one(value.value)
        if isinstance(value, list):
            ways = bundles(0xC0, [one(item) for item in value])
        elif isinstance(value, dict):
            items = [one(item) for pair in value.items() for item in pair]
            ways = bundles(0xC1, items)
        else:
            ways = spellings(value)
        return draw(st.sampled_from(ways))

    return one(value)
