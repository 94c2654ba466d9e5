"""Encode scalar values, without their constructor.

Source: AMQP 1.0, part 1, section 1.6.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Writer = Callable[[Any], bytes]


def fixed(layout: str) -> Writer:
    return struct.Struct(layout).pack


def exactly(width: int) -> Writer:
    def write(value: bytes) -> bytes:
        if len(value) != width:
            raise ValueError(f"A decimal has {width} bytes here, not {len(value)}.")
        return bytes(value)

    return write


def variable(layout: str, to_bytes: Writer) -> Writer:
    pack = struct.Struct(layout).pack

    def write(value: Any) -> bytes:
        data = to_bytes(value)
        return pack(len(data)) + data

    return write


def binary(value: bytes) -> bytes:
    return b"".join((value,))


def nothing(value: None) -> bytes:
    if value is not None:
        raise ValueError("An array of null holds nothing else.")
    return b""


def ascii_bytes(text: str) -> bytes:
    return text.encode("ascii")


def code_point(text: str) -> bytes:
    """The code point of one character that is not a surrogate.

    Raises:
        ValueError: the text is not one such character.
    """
    if len(text) != 1:
        raise ValueError(f"A char is one character, not {len(text)}.")
    return text.encode("utf-32-be")


# Functions that encode a value without its constructor, by constructor. ``encoding``
# adds those of lists, maps and arrays.
BODIES: dict[int, Writer] = {
    0x40: nothing,
    0x50: fixed(">B"),
    0x51: fixed(">b"),
    0x52: fixed(">B"),
    0x53: fixed(">B"),
    0x54: fixed(">b"),
    0x55: fixed(">b"),
    0x56: fixed("?"),
    0x60: fixed(">H"),
    0x61: fixed(">h"),
    0x70: fixed(">I"),
    0x71: fixed(">i"),
    0x72: fixed(">f"),
    0x73: code_point,
    0x74: exactly(4),
    0x80: fixed(">Q"),
    0x81: fixed(">q"),
    0x82: fixed(">d"),
    0x83: fixed(">q"),
    0x84: exactly(8),
    0x94: exactly(16),
    0x98: lambda value: value.bytes,
    0xA0: variable(">B", binary),
    0xA1: variable(">B", str.encode),
    0xA3: variable(">B", ascii_bytes),
    0xB0: variable(">I", binary),
    0xB1: variable(">I", str.encode),
    0xB3: variable(">I", ascii_bytes),
}
