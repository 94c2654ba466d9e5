"""Conversion between the body of an AMQP message and the stored body.

A single data section is stored as its bytes, a string value as UTF-8. Any other body,
as a map or several sections, is stored as it was encoded.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import NamedTuple

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Described
from broker.formats.mq.coding import Coding, coding_in
from broker.formats.text import declared, is_textual, read
from broker.queueing.get import Delivery

BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
ENCODED = "application/vnd.oasis.amqp"

DATA, VALUE = b"\x00\x53\x75", b"\x00\x53\x77"
DATA_NAMES = (0x75, "amqp:data:binary")
VALUE_NAMES = (0x77, "amqp:amqp-value:*")
BINARY8, BINARY32, STRING8, STRING32 = 0xA0, 0xB0, 0xA1, 0xB1
U32 = Struct(">I")
OTHER_CHARACTERS = re.compile(r"charset\s*=\s*\"?(?!utf-?8\b)", re.I)
# Values of the annotation x-opt-jms-msg-type.
MAP_MESSAGE, BYTES_MESSAGE, TEXT_MESSAGE = 2, 3, 5


def stored(sections: bytes, content_type: str | None) -> tuple[int, str]:
    """The offset from which a body's sections are stored, and its content type.

    Args:
        sections: the complete body.
        content_type: the content type in the properties section.

    Raises:
        AmqpError: a value in it cannot be decoded.
    """
    start = beginning(sections, DATA, BINARY8, BINARY32)
    if start:
        return start, content_type or BYTES
    start = beginning(sections, VALUE, STRING8, STRING32)
    if start:
        check_text(sections[start:])
        return start, text_type(content_type)
    return decoded(sections, content_type)


def beginning(sections: bytes, descriptor: bytes, short: int, long: int) -> int:
    """The offset of the bytes of a single value; 0 if the value is not of this type."""
    if not sections.startswith(descriptor) or len(sections) < 5:
        return 0
    constructor = sections[3]
    if constructor == short:
        start, length = 5, sections[4]
    elif constructor == long and len(sections) >= 8:
        start, length = 8, U32.unpack_from(sections, 4)[0]
    else:
        return 0
    return start if start + length == len(sections) else 0


def decoded(sections: bytes, content_type: str | None) -> tuple[int, str]:
    """Like ``stored``, for bodies that are not encoded in the usual way."""
    end = len(sections)
    section, at = decode(sections, 0, end)
    alone = at == end and isinstance(section, Described)
    if alone and type(section.value) is bytes and section.descriptor in DATA_NAMES:
        return end - len(section.value), content_type or BYTES
    if alone and type(section.value) is str and section.descriptor in VALUE_NAMES:
        return end - len(section.value.encode()), text_type(content_type)
    while at < end:
        _, at = decode(sections, at, end)
    return 0, ENCODED


def check_text(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as wrong:
        why = f"The text of the body is not UTF-8 at byte {wrong.start}."
        raise AmqpError(DECODE_ERROR, why) from None


def text_type(content_type: str | None) -> str:
    """The content type of a text; it is UTF-8 here, whatever charset was sent."""
    if content_type is None or OTHER_CHARACTERS.search(content_type):
        return TEXT
    return content_type


class EncodedBody(NamedTuple):
    """The AMQP body of a message that was put without AMQP."""

    section: bytes
    content_type: str | None  # the content type, for the properties section
    jms_type: int  # the value of x-opt-jms-msg-type


def made(delivery: Delivery) -> EncodedBody:
    """The AMQP body of a message that has no envelope.

    Plain text becomes a string value. Other text becomes data, but is still a text
    message for JMS. A map from a bridge stays a map.
    """
    body, content_type = delivery.body, delivery.content_type
    if content_type == ENCODED and is_map(body):
        return EncodedBody(body, None, MAP_MESSAGE)
    coding = coding_in(delivery)
    is_text = is_textual(content_type, coding)
    is_plain = content_type.strip().lower().startswith("text/plain")
    if is_text and (is_plain or content_type == BYTES):
        try:
            value = plain_text(body, content_type, coding)
            return EncodedBody(VALUE + encode(value), None, TEXT_MESSAGE)
        except ValueError:
            is_text = False
    kind = TEXT_MESSAGE if is_text else BYTES_MESSAGE
    return EncodedBody(DATA + encode(body), declared(content_type, coding), kind)


def plain_text(body: bytes, content_type: str, coding: Coding | None) -> str:
    """The text of a body, without headers of IBM MQ at its beginning.

    Raises:
        ValueError: it is none, or has such headers.
    """
    if coding is not None and coding.offset:
        raise ValueError("it has headers before its text")
    return read(body, content_type, coding)


def is_map(sections: bytes) -> bool:
    """Whether a body is a single section whose value is a map."""
    try:
        section, end = decode(sections)
    except AmqpError:
        return False
    return (
        end == len(sections)
        and isinstance(section, Described)
        and section.descriptor in VALUE_NAMES
        and isinstance(section.value, dict)
    )
