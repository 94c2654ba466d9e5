"""Change single values of an encoded section, and keep its other bytes.

Only the values that change are encoded again. The sections are known to be complete,
as they were decoded when the message arrived.
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
COUNTED = Struct(">BII")  # constructor, number of bytes, number of elements
U32 = Struct(">I")

Pair = tuple[Any, Any, bytes]  # key, value, and the encoded bytes of both


def pairs(section: bytes) -> Iterator[Pair]:
    """The pairs of a section's map; none if the section is empty."""
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
    """A section's map with pairs added and removed.

    Args:
        code: the section's code, as the section may be absent.
        section: the section with its descriptor; empty if absent.
        added: pairs to append; they replace those with the same keys.
        without: keys to remove.
    """
    kept = [
        raw for key, _, raw in pairs(section) if key not in without and key not in added
    ]
    more = [encode(key) + encode(value) for key, value in added.items()]
    written = kept + more
    return counted(code, MAP32, 2 * len(written), written) if written else b""


def with_null(section: bytes, place: int) -> bytes:
    """A section of properties with null at one position, counted from 0."""
    return with_fields(section, {place: None})


def with_fields(section: bytes, wanted: Mapping[int, Any]) -> bytes:
    """A section of properties with some values replaced.

    Args:
        section: the section with its descriptor; empty if absent.
        wanted: new values by position, counted from 0. None is null.
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
    """The number of elements of a section's list or map, and the offset of the
    first."""
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
