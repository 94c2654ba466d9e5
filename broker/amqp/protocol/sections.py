"""The sections of a message, split with as little decoding as possible.

Sections are passed on as the bytes received; only those values are decoded that the
broker itself needs.

Source: AMQP 1.0, part 3, section 3.2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

from broker.amqp.protocol.types.composites import (
    composite,
    composite_of,
    encode_composite,
)
from broker.amqp.protocol.types.decoding import DEPTH, READERS, decode, unknown, wrong
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.field_types import symbolic
from broker.amqp.protocol.types.types import Described, Symbol, UInt, ULong

NOTHING = 0x6F  # code that is lower than that of the first section
HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS = 0x70, 0x71, 0x72
PROPERTIES, APPLICATION_PROPERTIES = 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78

CODES = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}
NAMES = {NOTHING: "the beginning", **{code: name for name, code in CODES.items()}}
NULL = b"\x00\x53\x77\x40"  # a body with the value null
BODIES: dict[int, Literal["data", "sequence", "value"]] = {
    DATA: "data",
    SEQUENCE: "sequence",
    VALUE: "value",
}
# Sections whose maps have symbols as keys.
SYMBOLIC = (DELIVERY_ANNOTATIONS, ANNOTATIONS, FOOTER)

LISTS, MAPS = (0x45, 0xC0, 0xD0), (0xC1, 0xD1)
CONSTRUCTORS = {
    **dict.fromkeys((HEADER, PROPERTIES, SEQUENCE), LISTS),
    **dict.fromkeys((*SYMBOLIC, APPLICATION_PROPERTIES), MAPS),
    DATA: (0xA0, 0xB0),
    VALUE: range(256),
}
# Sections that may follow each section, by code. A body has one kind; data and sequence
# repeat.
NEXT = {
    **{code: range(code + 1, FOOTER) for code in range(NOTHING, DATA)},
    DATA: (DATA, FOOTER),
    SEQUENCE: (SEQUENCE, FOOTER),
    VALUE: (FOOTER,),
    FOOTER: (),
}
# Number of bytes of a value after its constructor, by the constructor's upper half.
LENGTHS = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16}
# Widths that are no number of bytes: unknown, or given by a length field of this size.
UNKNOWN, ONE_BYTE, FOUR_BYTES = -1, -2, -3
WIDTHS = [
    UNKNOWN
    if read is unknown
    else LENGTHS.get(code >> 4, FOUR_BYTES if code & 0x10 else ONE_BYTE)
    for code, read in enumerate(READERS)
]
U32 = struct.Struct(">I").unpack_from


@composite(0x70, "header", "boolean ubyte uint boolean uint", frozen=True)
class Header:
    """``ttl`` is in milliseconds."""

    durable: bool = False
    priority: int = 4
    ttl: int | None = None
    first_acquirer: bool = False
    delivery_count: int = 0


@composite(
    0x73,
    "properties",
    "message-id binary string string string message-id symbol symbol timestamp"
    " timestamp string uint string",
)
class Properties:
    """Times are in milliseconds since 1970; an id of type ulong is an int."""

    message_id: int | str | bytes | UUID | None = None
    user_id: bytes | None = None
    to: str | None = None
    subject: str | None = None
    reply_to: str | None = None
    correlation_id: int | str | bytes | UUID | None = None
    content_type: str | None = None
    content_encoding: str | None = None
    absolute_expiry_time: int | None = None
    creation_time: int | None = None
    group_id: str | None = None
    group_sequence: int | None = None
    reply_to_group_id: str | None = None


@dataclass(slots=True)
class Sections:
    """The encoded sections of a message, with descriptors; empty if absent.

    ``body`` holds all sections of the body. Delivery annotations are left out, as they
    are for one hop only.
    """

    header: Header | None
    annotations: bytes
    properties: bytes
    application_properties: bytes
    body: bytes
    footer: bytes


@dataclass(slots=True)
class Body:
    """``data``: the bytes of the only data section; None if there are several sections
    or another kind of body. ``written``: the encoded value of a body of kind
    ``value``."""

    kind: Literal["data", "sequence", "value"]
    data: bytes | None = None
    written: bytes = b"\x40"

    @property
    def value(self) -> Any:
        """The value of a body of kind ``value``, decoded at each call.

        Raises:
            AmqpError: the value cannot be decoded; ``amqp:decode-error``.
        """
        return decode(self.written)[0]


def split(payload: bytes) -> Sections:
    """Split a message into its sections.

    Proton sends no section for a body that is None; this adds the value null.

    Raises:
        AmqpError: with ``amqp:decode-error``; sections are unknown, out of order,
            repeated, cut short or of a wrong type, the header has an invalid value, or
            there is no section. The contents of other sections are not checked.
    """
    found: dict[int, tuple[int, int]] = {}  # begin and end of each section, by its code
    before = NOTHING
    for code, begin, _, end in walked(payload):
        if code not in NEXT[before]:
            raise wrong(f"{NAMES[code]} cannot follow {NAMES[before]}.")
        found[code] = (found[code][0] if code == before else begin, end)
        before = code
    return assembled(payload, found)


def walked(payload: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The code of each section, and the offsets of its begin, value and end.

    Raises:
        AmqpError: with ``amqp:decode-error``; see ``split``, but the order is not
            checked.
    """
    at, end = 0, len(payload)
    try:
        while at < end:
            code, value = section(payload, at)
            if payload[value] not in CONSTRUCTORS[code]:
                raise wrong(f"{NAMES[code]} is of another type.")
            stop = skip(payload, value)
            if stop > end:
                raise wrong(f"{NAMES[code]} is cut short.")
            yield code, at, value, stop
            at = stop
    except (IndexError, struct.error) as error:
        raise wrong("The message is cut short.") from error


def section(payload: bytes, at: int) -> tuple[int, int]:
    """The code of the section that begins here, and the offset of its value."""
    if payload.startswith(b"\x00\x53", at):
        code, at = payload[at + 2], at + 3
    else:
        code, at = unusual_section(payload, at)
    if code not in CONSTRUCTORS:
        raise wrong(f"No section of a message has the number {code}.")
    return code, at


def unusual_section(payload: bytes, at: int) -> tuple[int, int]:
    """Like ``section``, for a descriptor that is a symbol or a long number."""
    if payload[at]:
        raise wrong("A message consists of sections.")
    descriptor, at = decode(payload, at + 1)
    if isinstance(descriptor, Symbol):
        return CODES.get(descriptor, 0), at
    return (descriptor if isinstance(descriptor, ULong) else 0), at


def skip(data: bytes, at: int, depth: int = 0) -> int:
    """The end of the value that begins here; its contents are not checked.

    Raises:
        AmqpError: with ``amqp:decode-error``; no value begins here.
        IndexError, struct.error: it ends after the data. This is not always noticed.
    """
    code = data[at]
    width = WIDTHS[code]
    if width == UNKNOWN or depth > DEPTH:
        raise wrong("No type has this constructor.")
    if not code:
        return skip(data, skip(data, at + 1, depth + 1), depth + 1)
    if width == ONE_BYTE:
        width = 1 + data[at + 1]
    elif width == FOUR_BYTES:
        width = 4 + U32(data, at + 1)[0]
    return at + 1 + width


def assembled(payload: bytes, found: dict[int, tuple[int, int]]) -> Sections:
    def whole(code: int) -> bytes:
        begin, end = found.get(code, (0, 0))
        return payload[begin:end]

    if not found:
        raise wrong("The message has no sections.")
    body = whole(DATA) or whole(VALUE) or whole(SEQUENCE) or NULL
    return Sections(
        header=header_of(whole(HEADER)),
        annotations=whole(ANNOTATIONS),
        properties=whole(PROPERTIES),
        application_properties=whole(APPLICATION_PROPERTIES),
        body=body,
        footer=whole(FOOTER),
    )


@lru_cache(maxsize=1024)  # most messages have one of a few headers
def header_of(written: bytes) -> Header | None:
    """Decode a header section; None if it is empty."""
    header: Header | None = None
    if written:
        header = composite_of(decode(written)[0], Header)
    return header


def properties_of(written: bytes) -> Properties:
    """Decode a properties section, which may be empty.

    Raises:
        AmqpError: the bytes are not a properties section; ``amqp:decode-error``.
    """
    if not written:
        return Properties()
    properties: Properties = composite_of(decode(written)[0], Properties)
    return properties


def map_of(written: bytes) -> dict[Any, Any]:
    """Decode a section of annotations or application properties, which may be empty.

    Raises:
        AmqpError: the section is not a map; ``amqp:decode-error``.
    """
    if not written:
        return {}
    value, _ = decode(written)
    if not isinstance(value, Described) or not isinstance(value.value, dict):
        raise wrong("This section is no map.")
    return value.value


def body_of(written: bytes) -> Body:
    """The body of the encoded sections that ``split`` gives.

    Raises:
        AmqpError: the sections are not a valid body; ``amqp:decode-error``.
    """
    (code, _, value, end), *others = walked(written) if written else [(0, 0, 0, 0)]
    if code not in BODIES:
        raise wrong("This is no body of a message.")
    if others or code == SEQUENCE:
        return Body(BODIES[code])
    if code == VALUE:
        return Body("value", written=written[value:end])
    return Body("data", data=decode(written, value)[0])


def encode_section(code: int, value: Any) -> bytes:
    """Encode a section.

    Args:
        code: the section's code, such as ``ANNOTATIONS``.
        value: a dict for annotations, whose keys become symbols; a ``Properties`` for
            properties; bytes for data.

    Raises:
        ValueError: AMQP cannot encode it.
    """
    if isinstance(value, Properties | Header):
        return encode_composite(value)
    if code in SYMBOLIC:
        value = symbolic(value)
    return bytes((0, 0x53, code)) + encode(value)


@lru_cache(maxsize=1024)
def encode_header(
    *,
    durable: bool = False,
    priority: int = 4,
    ttl_ms: int | None = None,
    delivery_count: int = 0,
    first_acquirer: bool = False,
) -> bytes:
    """Encode a header. The delivery count is always written, as some clients do not
    read null as 0."""
    count = UInt(delivery_count)  # not the field's default, which is written as null
    return encode_composite(Header(durable, priority, ttl_ms, first_acquirer, count))
