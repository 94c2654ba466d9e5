"""Encode the sections of an AMQP message that an operator has repaired.

Values whose columns differ are encoded anew. Everything else stays byte for byte.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from broker.amqp.messages import bodies
from broker.amqp.messages.anonymous_relay import bare
from broker.amqp.messages.compose import JMS_TYPE, message_id, symbol
from broker.amqp.messages.death_annotations import OURS
from broker.amqp.messages.documents import amqp_value, document
from broker.amqp.messages.envelope import Envelope
from broker.amqp.messages.identifiers import identifier_of, text_of
from broker.amqp.messages.splice import (
    ANNOTATIONS,
    APPLICATION_PROPERTIES,
    with_fields,
    with_pairs,
)
from broker.amqp.protocol import sections
from broker.amqp.protocol.sections import (
    Properties,
    Sections,
    map_of,
    properties_of,
)
from broker.amqp.protocol.types.encoding import encode
from broker.formats.property_values import names
from broker.queueing.get import Delivery

MESSAGE_ID = 0
SUBJECT, REPLY_TO, CORRELATION_ID, CONTENT_TYPE, GROUP_ID = 3, 4, 5, 6, 10


def repaired(delivery: Delivery, kept: Envelope) -> Sections:
    """All sections but the header."""
    found, beginning = cut(kept.before)
    properties = found.get(sections.PROPERTIES, b"")
    application = found.get(sections.APPLICATION_PROPERTIES, b"")
    annotations = found.get(sections.ANNOTATIONS, b"")
    if beginning or is_encoded(delivery):
        body = body_of(delivery.body, beginning)
    else:  # the body was a map, and the repair replaced it by bytes
        body = bodies.DATA + encode(delivery.body)
        annotations = with_pairs(ANNOTATIONS, annotations, {}, (JMS_TYPE,))
    wanted = fields_of(delivery, properties_of(properties), body)
    return Sections(
        None,
        annotations,
        with_fields(properties, wanted) if wanted else properties,
        application_properties(delivery, application),
        body,
        kept.after,
    )


def cut(before: bytes) -> tuple[dict[int, bytes], bytes]:
    """The sections before a body, by code, and the first bytes of the body."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(before):
        code, value = sections.section(before, at)
        if code in sections.BODIES:
            break
        end = sections.skip(before, value)
        found[code] = before[at:end]
        at = end
    return found, before[at:]


def is_encoded(delivery: Delivery) -> bool:
    """Whether a body is stored as encoded sections, not as plain bytes or text."""
    return delivery.content_type == bodies.ENCODED or delivery.body.startswith(b"\0")


def body_of(body: bytes, beginning: bytes) -> bytes:
    """The body's sections; ``beginning`` is empty for a body stored as sections."""
    if not beginning:
        return body
    code, at = sections.section(beginning, 0)
    size = len(beginning) - at - 1  # length of the length field, after the constructor
    if int.from_bytes(beginning[-size:], "big") == len(body):
        return beginning + body
    try:
        value: Any = body.decode() if code == sections.VALUE else body
    except UnicodeDecodeError:
        return bodies.DATA + encode(body)
    return beginning[:at] + encode(value)


def fields_of(delivery: Delivery, said: Properties, body: bytes) -> dict[int, Any]:
    """The property fields whose columns differ from the section, by position."""
    wanted: dict[int, Any] = {}
    reply_to = said.reply_to and bare(said.reply_to)
    if delivery.client_message_id != text_of(said.message_id):
        wanted[MESSAGE_ID] = message_id(delivery)
    if delivery.subject != column(said.subject):
        wanted[SUBJECT] = delivery.subject
    if delivery.reply_to != column(reply_to):
        wanted[REPLY_TO] = delivery.reply_to
    if delivery.correlation_id != text_of(said.correlation_id):
        text = delivery.correlation_id
        wanted[CORRELATION_ID] = None if text is None else identifier_of(text)
    if delivery.content_type != bodies.stored(body, said.content_type)[1]:
        wanted[CONTENT_TYPE] = symbol(delivery.content_type)
    if delivery.group_id != column(said.group_id):
        wanted[GROUP_ID] = delivery.group_id
    return wanted


def column(text: str | None) -> str | None:
    """A text as its column stores it: None if PostgreSQL cannot store it."""
    return None if text is None or "\0" in text else text


def application_properties(delivery: Delivery, section: bytes) -> bytes:
    """The section with the column's changes; the broker's own are added later."""
    written = map_of(section)
    sent = document(written)
    originals = dict(zip(names(written), written, strict=True))
    has = {
        name: value for name, value in delivery.properties.items() if name not in OURS
    }
    others = {
        originals.get(name, name): value
        if is_long(written.get(originals.get(name)), value)
        else amqp_value(value)
        for name, value in has.items()
        if name not in sent or is_other(sent[name], value)
    }
    gone = [originals[name] for name in sent if name not in has and name not in OURS]
    if not others and not gone:
        return section
    return with_pairs(APPLICATION_PROPERTIES, section, others, gone)


def is_other(sent: Any, value: Any) -> bool:
    """Whether two values differ; unlike in Python, true is not 1. PostgreSQL writes
    numbers without an exponent, so that 1e300 comes back as a whole number."""
    if isinstance(sent, bool) is not isinstance(value, bool):
        return True
    if isinstance(sent, float) and isinstance(value, int):
        return Decimal(repr(sent)) != value
    return bool(sent != value)


def is_long(sent: Any, value: Any) -> bool:
    """Whether a number was sent as a long, and the new one fits into a long."""
    return type(sent) is type(value) is int and -(2**63) <= value < 2**63
