"""Encode values of AMQP's type system, each in its shortest form.

Source: AMQP 1.0, part 1, section 1.6.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from broker.amqp.protocol.types.scalars import BODIES, Writer, ascii_bytes
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

NULL = b"\x40"

ENCODERS: dict[type, Writer] = {}  # by type; composite types add their encoders


def encode(value: Any) -> bytes:
    """Encode one value with its constructor.

    Args:
        value: a value of a type that ``types`` names, or of a composite type; a tuple
            becomes an array of values of one type.

    Raises:
        ValueError: AMQP has no type for it, or it is outside the bounds of its type.
    """
    try:
        return one(value)
    except (struct.error, OverflowError, RecursionError) as error:
        raise ValueError(f"AMQP cannot hold this {type(value).__name__}.") from error


def one(value: Any) -> bytes:
    return (ENCODERS.get(type(value)) or inherited(type(value)))(value)


def inherited(kind: type) -> Writer:
    """The encoder of the nearest base class."""
    for known in kind.__mro__:
        if known in ENCODERS:
            return ENCODERS[known]
    raise ValueError(f"AMQP has no type for a {kind.__name__}.")


def encodes(*kinds: type) -> Callable[[Writer], Writer]:
    def register(writer: Writer) -> Writer:
        for kind in kinds:
            ENCODERS[kind] = writer
        return writer

    return register


# Types that have only one constructor, by constructor.
ALWAYS: dict[int, type] = {
    0x50: UByte,
    0x51: Byte,
    0x60: UShort,
    0x61: Short,
    0x72: Float,
    0x73: Char,
    0x74: Decimal32,
    0x82: float,
    0x83: Timestamp,
    0x84: Decimal64,
    0x94: Decimal128,
    0x98: UUID,
}


def always(code: int, kind: type) -> None:
    head, body = bytes((code,)), BODIES[code]

    @encodes(kind)
    def write(value: Any) -> bytes:
        return head + body(value)


for code, kind in ALWAYS.items():
    always(code, kind)


def whole(kind: type, empty: int | None, narrow: int, wide: int) -> None:
    """Register the encoder of an integer type; small values take one byte."""
    least, below = (-128, 128) if empty is None else (0, 256)
    short, long = BODIES[narrow], BODIES[wide]
    zero = None if empty is None else bytes((empty,))

    @encodes(kind)
    def write(value: int) -> bytes:
        if zero and not value:
            return zero
        if least <= value < below:
            return bytes((narrow,)) + short(value)
        return bytes((wide,)) + long(value)


whole(Int, None, 0x54, 0x71)
whole(int, None, 0x55, 0x81)
whole(UInt, 0x43, 0x52, 0x70)
whole(ULong, 0x44, 0x53, 0x80)


def text(kind: type, narrow: int, to_bytes: Writer) -> None:
    """Register the encoder of texts or bytes; short values have a length of one
    byte."""
    of_one_byte, of_four = struct.Struct("BB").pack, struct.Struct(">BI").pack

    @encodes(kind)
    def write(value: Any) -> bytes:
        data = to_bytes(value)
        if len(data) < 256:
            return of_one_byte(narrow, len(data)) + data
        return of_four(narrow + 0x10, len(data)) + data


text(bytes, 0xA0, bytes)
text(str, 0xA1, str.encode)
text(Symbol, 0xA3, ascii_bytes)


@encodes(type(None))
def null(value: None) -> bytes:
    return NULL


@encodes(bool)
def boolean(value: object) -> bytes:
    return b"\x41" if value else b"\x42"


@encodes(Described)
def described(value: Described) -> bytes:
    return b"\0" + one(value.descriptor) + one(value.value)


# Lists, maps and arrays. --------------------------------------------------------------


def narrow_body(count: int, body: bytes) -> bytes:
    return struct.pack("BB", len(body) + 1, count) + body


def wide_body(count: int, body: bytes) -> bytes:
    return struct.pack(">II", len(body) + 4, count) + body


def compound(narrow: int, count: int, body: bytes) -> bytes:
    """A list, map or array of encoded values."""
    if count < 256 and len(body) < 255:
        return bytes((narrow,)) + narrow_body(count, body)
    return bytes((narrow + 0x10,)) + wide_body(count, body)


@encodes(list)
def sequence(values: list[Any]) -> bytes:
    return of_written([one(value) for value in values])


def of_written(values: list[bytes]) -> bytes:
    """A list of values that are already encoded."""
    return compound(0xC0, len(values), b"".join(values)) if values else b"\x45"


@encodes(dict)
def mapping(values: dict[Any, Any]) -> bytes:
    return compound(0xC1, *parts_of_map(values))


def parts_of_list(values: list[Any]) -> tuple[int, bytes]:
    return len(values), b"".join([one(value) for value in values])


def parts_of_map(values: dict[Any, Any]) -> tuple[int, bytes]:
    items = [one(key) + one(value) for key, value in values.items()]
    return 2 * len(items), b"".join(items)


@encodes(Array, tuple)
def array(values: Array | tuple[Any, ...]) -> bytes:
    return compound(0xE0, *parts_of_array(values))


def parts_of_array(values: Array | tuple[Any, ...]) -> tuple[int, bytes]:
    if isinstance(values, tuple):
        values = Array(values)
    head = b"" if values.descriptor is None else b"\0" + one(values.descriptor)
    code, items = values_of_array(values)
    return len(values), head + bytes((code,)) + b"".join(items)


def values_of_array(values: Array) -> tuple[int, list[bytes]]:
    """The constructor of an array's values, and each value encoded without it.

    Raises:
        ValueError: the values are of several types, or their constructor is not for
            arrays.
    """
    code = code_for(values) if values.code is None else values.code
    if code not in BODIES:
        raise ValueError(f"Arrays cannot have values of constructor 0x{code:02x}.")
    try:
        return code, [BODIES[code](value) for value in values]
    except (AttributeError, TypeError) as error:
        raise ValueError("The values of an array are of one type.") from error


def code_for(values: Array) -> int:
    """The constructor for values of the first value's type, wide enough for all
    values."""
    if not values:
        return SYMBOLS
    kind = next((kind for kind in type(values[0]).__mro__ if kind in CODES), None)
    if kind is None:
        raise ValueError(f"No array can hold a {type(values[0]).__name__}.")
    if kind in (bytes, str, Symbol) and any(len(one(value)) > 257 for value in values):
        return CODES[kind] + 0x10
    return CODES[kind]


SYMBOLS = 0xA3
CODES: dict[type, int] = {
    **{kind: code for code, kind in ALWAYS.items()},
    type(None): 0x40,
    bool: 0x56,
    UInt: 0x70,
    Int: 0x71,
    ULong: 0x80,
    int: 0x81,
    bytes: 0xA0,
    str: 0xA1,
    Symbol: SYMBOLS,
    list: 0xD0,
    dict: 0xD1,
    Array: 0xF0,
    tuple: 0xF0,
}

Parts = Callable[[Any], tuple[int, bytes]]

CONTAINERS: dict[int, Parts] = {
    0xC0: parts_of_list,
    0xC1: parts_of_map,
    0xE0: parts_of_array,
}


def container(code: int, parts: Parts) -> None:
    """Register the encoder of lists, maps and arrays inside arrays."""
    BODIES[code] = lambda value: narrow_body(*parts(value))
    BODIES[code + 0x10] = lambda value: wide_body(*parts(value))


for code, parts in CONTAINERS.items():
    container(code, parts)
