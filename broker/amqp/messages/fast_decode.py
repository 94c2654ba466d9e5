"""Fast decoding of messages that are encoded in the usual way.

Nearly all messages are encoded alike: short sections in order, texts and small numbers.
These functions decode that encoding. For every other one, and for errors, they call the
functions of ``protocol.sections``, which give the same results.
"""

from __future__ import annotations

import struct
from math import isfinite
from operator import attrgetter
from typing import Any

from broker.amqp.messages.documents import converted, document
from broker.amqp.protocol.sections import (
    Sections,
    header_of,
    map_of,
    properties_of,
    split,
)
from broker.amqp.protocol.types.decoding import decode

U32 = struct.Struct(">I").unpack_from
COUNTED = struct.Struct(">II").unpack_from
I64 = struct.Struct(">q").unpack_from
DOUBLE = struct.Struct(">d").unpack_from

# Codes of sections: the first section, the body, and the footer.
FIRST, BODY, FOOTER = 0x70, 0x75, 0x78
LISTS, MAPS = (0xC0, 0xD0), (0xC1, 0xD1)
USUAL = (LISTS, MAPS, MAPS, LISTS, MAPS, (0xA0, 0xB0), LISTS, (0xA1, 0xB1), MAPS)

NULL, TEXT8, SYMBOL8, TIME = 0x40, 0xA1, 0xA3, 0x83
TRUE, FALSE, SMALL_INT, REAL = 0x41, 0x42, 0x54, 0x82
TEXT = frozenset({NULL, TEXT8, 0xB1})
SYMBOL = frozenset({NULL, SYMBOL8, 0xB3})
BINARY = frozenset({NULL, 0xA0, 0xB0})
IDENTIFIER = TEXT | BINARY | {0x44, 0x53, 0x80, 0x98}
MOMENT = frozenset({NULL, TIME})
NUMBER = frozenset({NULL, 0x43, 0x52, 0x70})
PLACES = (  # the fields of the section, and the AMQP type codes of their values
    ("message_id", IDENTIFIER),
    ("user_id", BINARY),
    ("to", TEXT),
    ("subject", TEXT),
    ("reply_to", TEXT),
    ("correlation_id", IDENTIFIER),
    ("content_type", SYMBOL),
    ("content_encoding", SYMBOL),
    ("absolute_expiry_time", MOMENT),
    ("creation_time", MOMENT),
    ("group_id", TEXT),
    ("group_sequence", NUMBER),
    ("reply_to_group_id", TEXT),
)
ALLOWED = tuple(codes for _, codes in PLACES)
ALL = attrgetter(*(name for name, _ in PLACES))
OUTSIDE = (IndexError, UnicodeDecodeError, struct.error)


def cut(payload: bytes) -> Sections:
    """Split a message into sections; see ``split``."""
    found = [b""] * len(USUAL)
    at, end, before = 0, len(payload), FIRST - 1
    try:
        while at < end:
            code, constructor = payload[at + 2], payload[at + 3]
            if (
                not payload.startswith(b"\0\x53", at)
                or not before < code <= FOOTER
                or (before >= BODY and code != FOOTER)
                or constructor not in USUAL[code - FIRST]
            ):
                return split(payload)
            if constructor & 0x10:
                stop = at + 8 + U32(payload, at + 4)[0]
            else:
                stop = at + 5 + payload[at + 4]
            found[code - FIRST] = payload[at:stop]
            at, before = stop, code
    except OUTSIDE:
        return split(payload)
    header, _, annotations, properties, application, data, several, value, footer = (
        found
    )
    body = data or value or several
    if at > end or not body:
        return split(payload)
    return Sections(
        header_of(header), annotations, properties, application, body, footer
    )


def fields_of(section: bytes) -> tuple[Any, ...]:
    """The fields of ``properties_of`` in their order."""
    fields: list[Any] = [None] * len(PLACES)
    try:
        count, at = beginning(section, 0x73)
        end = len(section)
        for place in range(count):
            code = section[at]
            if code not in ALLOWED[place]:
                return ALL(properties_of(section))
            if code == NULL:
                at += 1
            elif code in (TEXT8, SYMBOL8):
                start = at + 2
                at = start + section[at + 1]
                text = section[start:at]
                fields[place] = text.decode("utf-8" if code == TEXT8 else "ascii")
            elif code == TIME:
                (fields[place],) = I64(section, at + 1)
                at += 9
            else:
                fields[place], at = decode(section, at, end)
    except OUTSIDE:
        return ALL(properties_of(section))
    return tuple(fields) if at == end else ALL(properties_of(section))


def document_of(section: bytes) -> dict[str, Any]:
    """The JSON object with the entries that ``map_of`` returns."""
    kept: dict[str, Any] = {}
    try:
        count, at = beginning(section, 0x74)
        for _ in range(count // 2):
            start = at + 2
            at = start + section[at + 1]
            name = section[start:at].decode()
            if section[start - 2] != TEXT8:
                return document(map_of(section))
            if section[at] == TEXT8:
                start = at + 2
                at = start + section[at + 1]
                kept[name] = value = section[start:at].decode()
                if "\0" in value:  # PostgreSQL cannot store it
                    return document(map_of(section))
            else:
                kept[name], at = json_value(section, at)
    except OUTSIDE:
        return document(map_of(section))
    if at != len(section) or 2 * len(kept) != count or "\0" in "".join(kept):
        return document(map_of(section))
    return kept


def json_value(section: bytes, at: int) -> tuple[Any, int]:
    """The JSON value of any value but a short text, and the offset of its end."""
    code = section[at]
    value: Any
    if code == SMALL_INT:
        value = section[at + 1]
        return value - 256 if value > 127 else value, at + 2
    if code in (NULL, TRUE, FALSE):
        return None if code == NULL else code == TRUE, at + 1
    if code == REAL:
        (value,) = DOUBLE(section, at + 1)
        return value if isfinite(value) else converted(value), at + 9
    value, at = decode(section, at, len(section))
    return value if type(value) in (int, bool) else converted(value), at


def beginning(section: bytes, code: int) -> tuple[int, int]:
    """The number of elements of a section's list or map, and the offset of the first.

    Raises:
        IndexError: the section is not encoded in the usual way.
    """
    if section[:2] != b"\0\x53" or section[2] != code:
        raise IndexError
    constructor = section[3]
    if constructor in (0xC0, 0xC1):
        return section[5], 6
    if constructor in (0xD0, 0xD1):
        return COUNTED(section, 4)[1], 12
    raise IndexError
