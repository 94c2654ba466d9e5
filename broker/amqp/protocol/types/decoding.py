"""Decode values of AMQP's type system from untrusted bytes.

Time and memory grow at most linearly with the number of bytes. No byte after the given
end becomes part of a value.

Source: AMQP 1.0, part 1, sections 1.2 and 1.6.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

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

DEPTH = 32  # deepest nesting of values
# A sender can choose values of some types so that their hashes collide; a large map of
# such keys takes quadratic time. Hashes of text and bytes are random, and those of
# numbers hardly collide.
SAFE_KEYS = str | bytes | int | None
OTHER_KEYS = 256

Reader = Callable[[bytes, int, int, int], tuple[Any, int]]

TWO_U32 = struct.Struct(">II").unpack_from


def decode(data: bytes, at: int = 0, end: int | None = None) -> tuple[Any, int]:
    """Decode one value.

    Args:
        data: bytes, which may continue after the value.
        at: the offset of the value.
        end: the offset that the value must not pass; None: the end of the data.

    Returns:
        The value, and the offset of its end. Types without a class in ``types`` are
        plain Python types. If keys of a map have different types but are equal in
        Python, as 1 and True, the last one counts.

    Raises:
        AmqpError: with ``amqp:decode-error``; it is no value, is nested deeper than
            ``DEPTH``, or passes its end.
    """
    if end is None:
        end = len(data)
    try:
        value, at = READERS[data[at]](data, at + 1, end, 0)
    except (IndexError, struct.error) as error:
        raise wrong("A value goes on behind the end of its data.") from error
    except UnicodeDecodeError as error:
        raise wrong("A text is not in the encoding of its type.") from error
    if at > end:
        raise wrong("A value goes on behind its end.")
    return value, at


def wrong(description: str) -> AmqpError:
    return AmqpError(DECODE_ERROR, description)


def unknown(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
    raise wrong("No type has this constructor.")


# Functions that read a value, by its constructor.
READERS: list[Reader] = [unknown] * 256


def reads(*codes: int) -> Callable[[Reader], Reader]:
    def register(reader: Reader) -> Reader:
        for code in codes:
            READERS[code] = reader
        return reader

    return register


def read_constant(code: int, value: Any) -> None:
    @reads(code)
    def constant(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        return value, at


def read_fixed(code: int, layout: str, make: Callable[[Any], Any] | None) -> None:
    unpack, width = struct.Struct(layout).unpack_from, struct.calcsize(layout)

    @reads(code)
    def fixed(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        (value,) = unpack(data, at)
        return make(value) if make else value, at + width


def read_variable(code: int, layout: str, make: Callable[[bytes], Any]) -> None:
    unpack, width = struct.Struct(layout).unpack_from, struct.calcsize(layout)

    @reads(code)
    def variable(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        at += width
        stop = at + unpack(data, at - width)[0]
        if stop > end:
            raise wrong("A text goes on behind the end of what it is in.")
        return make(data[at:stop]), stop


def boolean(value: int) -> bool:
    if value > 1:
        raise wrong(f"A boolean is 0 or 1, not {value}.")
    return value == 1


def char(code_point: int) -> Char:
    if code_point > 0x10FFFF or 0xD800 <= code_point < 0xE000:
        raise wrong(f"No character has the number {code_point}.")
    return Char(chr(code_point))


for code, value in [
    (0x40, None),
    (0x41, True),
    (0x42, False),
    (0x43, UInt(0)),
    (0x44, ULong(0)),
]:
    read_constant(code, value)

for code, layout, make in [
    (0x50, ">B", UByte),
    (0x51, ">b", Byte),
    (0x52, ">B", UInt),
    (0x53, ">B", ULong),
    (0x54, ">b", Int),
    (0x55, ">b", None),
    (0x56, ">B", boolean),
    (0x60, ">H", UShort),
    (0x61, ">h", Short),
    (0x70, ">I", UInt),
    (0x71, ">i", Int),
    (0x72, ">f", Float),
    (0x73, ">I", char),
    (0x74, "4s", Decimal32),
    (0x80, ">Q", ULong),
    (0x81, ">q", None),
    (0x82, ">d", None),
    (0x83, ">q", Timestamp),
    (0x84, "8s", Decimal64),
    (0x94, "16s", Decimal128),
    (0x98, "16s", lambda value: UUID(bytes=value)),
]:
    read_fixed(code, layout, make)

TEXTS: dict[int, Callable[[bytes], Any]] = {
    0xA0: bytes,
    0xA1: bytes.decode,
    0xA3: lambda value: Symbol(value.decode("ascii")),
}
for code, of_one_byte in TEXTS.items():
    read_variable(code, ">B", of_one_byte)
    read_variable(code + 0x10, ">I", of_one_byte)


def narrow(data: bytes, at: int) -> tuple[int, int, int]:
    """The number of values of a compound, and the offsets of their begin and end."""
    return data[at + 1], at + 2, at + 1 + data[at]


def wide(data: bytes, at: int) -> tuple[int, int, int]:
    size, count = TWO_U32(data, at)
    return count, at + 8, at + 4 + size


def read_compound(
    code: int,
    head: Callable[[bytes, int], tuple[int, int, int]],
    read: Callable[[bytes, int, int, int, int], tuple[Any, int]],
) -> None:
    """Register the reader of a list, map or array. The count may not exceed the number
    of bytes: this limits arrays whose values take no bytes, too."""

    @reads(code)
    def compound(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        if depth >= DEPTH:
            raise wrong(f"Values are more than {DEPTH} deep in one another.")
        count, at, stop = head(data, at)
        if stop > end:
            raise wrong("A list, map or array goes on behind what it is in.")
        if count > stop - at:
            raise wrong(f"{count} values are more than {max(stop - at, 0)} bytes hold.")
        value, at = read(data, at, stop, depth + 1, count)
        if at != stop:
            raise wrong("A list, map or array does not end where it says.")
        return value, at


def several(
    data: bytes, at: int, end: int, depth: int, count: int
) -> tuple[list[Any], int]:
    values = []
    for _ in range(count):
        value, at = READERS[data[at]](data, at + 1, end, depth)
        values.append(value)
    return values, at


def pairs(
    data: bytes, at: int, end: int, depth: int, count: int
) -> tuple[dict[Any, Any], int]:
    values, at = several(data, at, end, depth, count)
    keys = values[::2]
    if count % 2:
        raise wrong("A map has a key without a value.")
    if len(keys) > OTHER_KEYS and not all(isinstance(key, SAFE_KEYS) for key in keys):
        raise wrong(f"A map has more than {OTHER_KEYS} keys of unusual types.")
    try:
        found = dict(zip(keys, values[1::2], strict=True))
        repeated = len(found) < len(keys) > len({(type(key), key) for key in keys})
    except TypeError as error:
        raise wrong("A list, map or array is a key of a map.") from error
    if repeated:
        raise wrong("A map has a key twice.")
    return found, at


def array(data: bytes, at: int, end: int, depth: int, count: int) -> tuple[Array, int]:
    descriptor, code, at = constructor(data, at, end, depth)
    reader = READERS[code]
    values = Array((), WIDER.get(code, code), descriptor)
    for _ in range(count):
        value, at = reader(data, at, end, depth)
        values.append(value)
    return values, at


def constructor(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int, int]:
    """The descriptor of an array's values, if any, their constructor, and the offset of
    its end."""
    descriptor = None
    code, at = data[at], at + 1
    if not code:
        descriptor, at = READERS[data[at]](data, at + 1, end, depth)
        code, at = data[at], at + 1
    if not code:
        raise wrong("Values of an array are described twice.")
    return descriptor, code, at


# Constructors of a small encoding, and the general constructor of the same type.
WIDER = {0x41: 0x56, 0x42: 0x56, 0x43: 0x70, 0x44: 0x80, 0x45: 0xD0}

for code, read in [(0xC0, several), (0xC1, pairs), (0xE0, array)]:
    read_compound(code, narrow, read)
    read_compound(code + 0x10, wide, read)


@reads(0x45)
def empty_list(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
    return [], at


@reads(0x00)
def described(data: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
    if depth >= DEPTH:
        raise wrong(f"Values are more than {DEPTH} deep in one another.")
    descriptor, at = READERS[data[at]](data, at + 1, end, depth + 1)
    value, at = READERS[data[at]](data, at + 1, end, depth + 1)
    return Described(descriptor, value), at
