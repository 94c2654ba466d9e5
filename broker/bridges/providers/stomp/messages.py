"""Conversion between stored messages and STOMP's headers and body.

===================  ==============================  =================================
stored               header                          on the way back
===================  ==============================  =================================
address              ``destination``, by its prefix  the destination subscribed to
priority             ``priority``                    0 to 9; 4 where it is missing
durable              ``persistent``                  not durable if it is missing
expires_at           ``expires``, ms since 1970      0: never
..., for RabbitMQ    ``expiration``, ms to live      not sent; RabbitMQ expires it
correlation_id       ``correlation-id``              the same
subject              ``type`` (JMSType)              the same
group_id             ``JMSXGroupID``                 the same; ActiveMQ hides it, but
                                                     see ``more``
reply_to             ``reply-to``, a queue's prefix  without that of a queue
content_type         ``content-type``                text or bytes, by the body
message_id           none: the target sets its own   none: in ``Received`` instead
properties           a header each, as text          text; see ``more`` for the others
descriptor, headers  see ``more``                    see ``more``
deliver_at           none: the source has waited     none
producer, envelope   none: the columns have it       none
===================  ==============================  =================================

A text is sent without ``content-length``, by which JMS providers recognise bytes; a
text with a NUL needs it. A JMS map is sent to ActiveMQ as a map message. Any other
encoded body is sent as bytes, with its content type. An object message is received as
ActiveMQ's XML. A stream message is received as an empty text: ActiveMQ sends no more.

Source:
    STOMP 1.2; ActiveMQ, "Stomp", and ``FrameTranslator``; RabbitMQ, "STOMP Plugin".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from broker.amqp.messages.bodies import BYTES, ENCODED, OTHER_CHARACTERS, TEXT
from broker.bridges.messages import in_unicode
from broker.bridges.providers.stomp import maps, more, texts
from broker.bridges.providers.stomp.dialects import Dialect
from broker.errors.mq_codes import Format
from broker.formats.mq.descriptor import format_of
from broker.queueing.store import NewMessage

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LAST_MS = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MILLISECOND
USUAL_PRIORITY, HIGHEST = 4, 9
TRANSFORMATION, MAP, OBJECT = "transformation", "jms-map-xml", "jms-object-xml"
# Columns that are sent as one header each, and the header's name.
FIELDS: Mapping[str, str] = {
    "correlation_id": "correlation-id",
    "subject": "type",
    "group_id": "JMSXGroupID",
    "reply_to": "reply-to",
    "content_type": "content-type",
}
TAKEN = frozenset(  # names of headers with a meaning in STOMP or for a server
    (
        *("destination", "priority", "persistent", "expires", "expiration"),
        *("correlation-id", "type", "JMSXGroupID", "reply-to", "content-type"),
        *("content-length", "amq-msg-type", "message-id", "timestamp", "receipt"),
        *("transaction", "subscription", "ack", "id", "redelivered", "user-id"),
        *("selector", "receipt-id", "amqp-message-id", TRANSFORMATION, more.HEADER),
        *("JMSXDeliveryCount", "JMSXGroupSeq", "JMSCorrelationID", "JMSDeliveryMode"),
        *("JMSExpiration", "JMSPriority", "JMSRedelivered", "JMSReplyTo"),
        *("JMSTimestamp", "JMSType"),  # ActiveMQ would read them as JMS headers
    )
)
# Reserved names that are received as properties, because no column stores them.
TOLD = frozenset(
    (
        *("id", "user-id", "selector", "receipt-id", "amqp-message-id"),
        *(name for name in TAKEN if name.startswith("JMS") and name != "JMSXGroupID"),
    )
)
OURS = TAKEN - TOLD
LONGEST_NAME = 255  # most bytes of a header's name, in RabbitMQ
UNSAFE = frozenset("\0\r")  # characters that ActiveMQ would change


class StompFrame(NamedTuple):
    """The headers and body of a message to send."""

    headers: dict[str, str]
    body: bytes


class Cannot(ValueError):
    """STOMP, or this server, cannot transport a message; the text is the reason."""


def to_frame(
    message: NewMessage,
    destination: str,
    dialect: Dialect,
    queue_prefix: str,
    now: datetime,
) -> StompFrame:
    """Encode a message to send.

    Args:
        destination: the server's name of the destination.
        now: the time, for the remaining time to live.

    Raises:
        Cannot: the message cannot be sent.
    """
    message = in_unicode(message)
    headers = {
        "destination": destination,
        "priority": str(message.priority),
        "persistent": "true" if message.durable else "false",
    }
    if message.expires_at is not None:
        headers |= expiry(message.expires_at, dialect, now)
    rest = more.of_ibm(message)
    put_fields(message, queue_prefix, headers, rest)
    if message.group_id is not None and dialect.hides_group:
        rest.setdefault("fields", {})["group_id"] = message.group_id
    put_properties(message.properties, headers, rest)
    body = put_body(message, dialect, headers)
    if rest:
        try:
            headers[more.HEADER] = more.written(rest)
        except ValueError as wrong:
            why = f"A property has a value that JSON cannot represent: {wrong}."
            raise Cannot(why) from None
    check_sizes(headers, dialect)
    return StompFrame(headers, body)


def expiry(expires_at: datetime, dialect: Dialect, now: datetime) -> dict[str, str]:
    """The expiry header. An expired message gets a time of one millisecond, as 0 means
    never."""
    if dialect.expires:
        return {dialect.expires: str((expires_at - EPOCH) // MILLISECOND)}
    return {"expiration": str(max((expires_at - now) // MILLISECOND, 1))}


def put_fields(
    message: NewMessage,
    queue_prefix: str,
    headers: dict[str, str],
    rest: dict[str, Any],
) -> None:
    """Add the text columns as headers."""
    for field, header in FIELDS.items():
        value = getattr(message, field)
        if value is None:
            continue
        if not UNSAFE.isdisjoint(value):
            rest.setdefault("fields", {})[field] = value
        elif field == "reply_to" and value and not value.startswith("/"):
            headers[header] = queue_prefix + value
        else:
            headers[header] = value


def put_properties(
    properties: Mapping[str, Any], headers: dict[str, str], rest: dict[str, Any]
) -> None:
    """Add properties as headers; properties that cannot be headers go into ``rest``."""
    for name, value in properties.items():
        text = text_of(value)
        if text is not None and is_header(name, text):
            headers[name] = text
            if isinstance(value, str):
                continue
        rest.setdefault("properties", {})[name] = value


def text_of(value: Any) -> str | None:
    """A property's value as text; None if it has no text form."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def is_header(name: str, text: str) -> bool:
    """Whether a property can be a header of its own, and would be received
    unchanged."""
    return (
        name not in TAKEN
        and name.isprintable()
        and name == name.strip()
        and bool(name)
        and len(name.encode()) <= LONGEST_NAME
        and not {":", "\\"}.intersection(name)
        and UNSAFE.isdisjoint(text)
    )


def put_body(message: NewMessage, dialect: Dialect, headers: dict[str, str]) -> bytes:
    """Return the body to send, and add the headers for its type."""
    if message.content_type == ENCODED and dialect.maps:
        found = maps.to_xml(message.body)
        if found is not None:
            headers.pop("content-type", None)
            headers[TRANSFORMATION] = MAP
            return found
    elif (text := plain_text(message)) is not None:
        if dialect.java_text:
            return texts.to_java(text)
        if "\0" not in text:
            return message.body
    headers["content-length"] = str(len(message.body))
    return message.body


def plain_text(message: NewMessage) -> str | None:
    """The text of a UTF-8 body; None if the body is no UTF-8 text."""
    named = message.content_type
    if format_of(named) != Format.STRING or OTHER_CHARACTERS.search(named):
        return None
    try:
        return message.body.decode()
    except UnicodeDecodeError:
        return None


def check_sizes(headers: Mapping[str, str], dialect: Dialect) -> None:
    """Check the sizes of a frame.

    Raises:
        Cannot: the server would end the connection.
    """
    # 10 are reserved for headers of the frame, as receipt and transaction.
    if len(headers) > dialect.headers - 10:
        why = (
            f"It has {len(headers):,} headers and properties; {dialect.name} accepts at"
            f" most {dialect.headers - 10:,}."
        )
        raise Cannot(why)
    for name, value in headers.items():
        size = len(f"{name}:{value}".encode()) + sum(map(value.count, "\\\n:"))
        if size > dialect.header_bytes:
            what = (
                "Its fields that STOMP has no header for take"
                if name == more.HEADER
                else f"Its header or property {name!r} takes"
            )
            why = (
                f"{what} {size:,} bytes; {dialect.name} accepts at most"
                f" {dialect.header_bytes:,} in one header."
            )
            raise Cannot(why)


def from_frame(
    headers: Mapping[str, str],
    body: bytes,
    *,
    address: str,
    dialect: Dialect,
    queue_prefix: str,
) -> NewMessage:
    """Decode a received message. Decoding never fails, whatever a server sends."""
    said = more.read(headers.get(more.HEADER, ""))
    fields = dict((said or {}).get("fields", {}))
    content_type, body = body_of(headers, body, dialect)
    if "content-type" not in headers:
        content_type = fields.get("content_type", content_type)
    message = NewMessage(
        address,
        body,
        content_type,
        properties_of(headers, said),
        priority=number(headers.get("priority"), HIGHEST, USUAL_PRIORITY),
        durable=headers.get("persistent") == "true",
        expires_at=moment(headers.get("expires")),
        correlation_id=column(headers, "correlation-id", fields.get("correlation_id")),
        reply_to=reply_to(headers, queue_prefix, fields.get("reply_to")),
        subject=column(headers, "type", fields.get("subject")),
        group_id=column(headers, "JMSXGroupID", fields.get("group_id")),
    )
    if said:
        more.take_ibm(message, said)
    return message


def body_of(
    headers: Mapping[str, str], body: bytes, dialect: Dialect
) -> tuple[str, bytes]:
    """The content type and the body, as they are stored."""
    if headers.get(TRANSFORMATION) in (MAP, OBJECT) and "content-length" not in headers:
        found = maps.from_xml(body)
        return ("application/xml", body) if found is None else (ENCODED, found)
    has_length = "content-length" in headers and dialect.length_means_bytes
    is_text = headers.get("amq-msg-type") == "text" or not has_length
    if not dialect.length_means_bytes:
        is_text = False
    content_type = column(headers, "content-type") or (TEXT if is_text else BYTES)
    return content_type, texts.from_java(body) if is_text else body


def properties_of(
    headers: Mapping[str, str], said: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Headers without a column, as properties; with their original values if a broker
    like this one has sent them."""
    dropped = OURS if said is not None else OURS - {more.HEADER}
    found: dict[str, Any] = {
        storable(name): storable(value)
        for name, value in headers.items()
        if name not in dropped
    }
    for name, value in (said or {}).get("properties", {}).items():
        if name not in found or found[name] == text_of(value):
            found[name] = value
    return found


def column(
    headers: Mapping[str, str], name: str, otherwise: str | None = None
) -> str | None:
    value = headers.get(name)
    return otherwise if value is None else storable(value)


def storable(text: str) -> str:
    """A text without NULs, which PostgreSQL cannot store."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def reply_to(
    headers: Mapping[str, str], queue_prefix: str, otherwise: str | None
) -> str | None:
    """The reply destination: a queue's bare name, or else the server's name."""
    said = column(headers, "reply-to")
    if said is None or not said.startswith(queue_prefix):
        return otherwise if said is None else said
    name = said.removeprefix(queue_prefix)
    return said if not name or name.startswith("/") else name


def number(text: str | None, highest: int, usual: int) -> int:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 18:
        return usual
    return min(int(text), highest)


def moment(text: str | None) -> datetime | None:
    """The time for milliseconds since 1970; None for 0, which means never, and for a
    text that is no number."""
    milliseconds = number(text, LAST_MS, 0)
    return EPOCH + milliseconds * MILLISECOND if milliseconds else None
