"""Changing a section of a message and leaving the rest of its bytes as they were.

What a sender wrote comes out as it went in: nothing is decoded and written again but
what has to change. The sections given here were decoded once before, when the message
arrived, so they are whole.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from struct import Struct
from typing import Any

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode

ANNOTATIONS, PROPERTIES, APPLICATION_PROPERTIES = 0x72, 0x73, 0x74
LIST0, LIST8, LIST32 = 0x45, 0xC0, 0xD0
MAP8, MAP32 = 0xC1, 0xD1
NULL = b"\x40"
COUNTED = Struct(">BII")  # constructor, bytes, elements
U32 = Struct(">I")

Pair = tuple[Any, Any, bytes]  # key, value, and both as they are written


def pairs(section: bytes) -> Iterator[Pair]:
    """What the map of a section holds; nothing, where there is no section."""
    if not section:
        return
    count, at = elements(section, MAP8, MAP32)
    for _ in range(count // 2):
        key, middle = decode(section, at, len(section))
        value, end = decode(section, middle, len(section))
        yield key, value, section[at:end]
        at = end


def with_pairs(
    code: int,
    section: bytes,
    added: Mapping[Any, Any],
    without: Container[Any] = (),
) -> bytes:
    """A section whose map has more, and no longer has what is named.

    Args:
        code: of the section, which may not have been there.
        section: with its descriptor; empty where there is none.
        added: goes behind what stays, and takes the place of what has the same key.
        without: keys of what does not stay.
    """
    kept = [
        raw for key, _, raw in pairs(section) if key not in without and key not in added
    ]
    more = [encode(key) + encode(value) for key, value in added.items()]
    written = kept + more
    return counted(code, MAP32, 2 * len(written), written) if written else b""


def with_null(section: bytes, place: int) -> bytes:
    """A section whose list has null in one place, counted from 0."""
    return with_fields(section, {place: None})


def with_fields(section: bytes, wanted: Mapping[int, Any]) -> bytes:
    """A section of properties whose list has other values in some places.

    Args:
        section: with its descriptor; empty where there is none.
        wanted: by place, counted from 0. None is null.
    """
    count, at = elements(section, LIST8, LIST32) if section else (0, 0)
    fields: list[bytes] = []
    for _ in range(count):
        _, end = decode(section, at, len(section))
        fields.append(section[at:end])
        at = end
    fields += [NULL] * (max(wanted, default=-1) + 1 - count)
    for place, value in wanted.items():
        fields[place] = encode(value)
    return counted(PROPERTIES, LIST32, len(fields), fields)


def elements(section: bytes, short: int, long: int) -> tuple[int, int]:
    """How many elements a section's list or map has, and where the first begins."""
    _, at = decode(section, 1, len(section))
    constructor = section[at]
    if constructor == short:
        return section[at + 2], at + 3
    if constructor == long:
        return U32.unpack_from(section, at + 5)[0], at + 9
    if constructor == LIST0 and short == LIST8:
        return 0, at + 1
    raise AmqpError(DECODE_ERROR, "A section of the message is of another type.")


def counted(code: int, long: int, count: int, written: Iterable[bytes]) -> bytes:
    content = b"".join(written)
    descriptor = bytes((0, 0x53, code))
    return descriptor + COUNTED.pack(long, len(content) + 4, count) + content
