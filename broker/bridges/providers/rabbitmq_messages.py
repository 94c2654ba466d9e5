"""Conversion between AMQP 0-9-1 messages and stored messages. Pure functions.

Properties are a dictionary with py-amqp's names; ``application_headers`` is the table
of headers. ``docs/bridges-rabbitmq.md`` shows the mapping.

Values without a property in AMQP 0-9-1 are sent as headers with the prefix
``x-backout-``, and so are properties whose names have a meaning in RabbitMQ. Not sent
are: IBM MQ's descriptor and headers, the delivery time, and the AMQP 1.0 envelope with
the exact types of properties.

Source:
    AMQP 0-9-1, section 1.8, "basic"; RabbitMQ's errata for the types of a table, and
    its manual, "Sender-selected Distribution", for what CC and BCC do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from broker.amqp.messages import bodies
from broker.amqp.messages.envelope import content_encoding, sealed
from broker.amqp.messages.identifiers import identifier_of
from broker.amqp.messages.splice import with_fields
from broker.amqp.protocol.conditions import AmqpError
from broker.formats import property_values
from broker.queueing.store import REPAIRED, NewMessage

HEADERS = "application_headers"
OURS = "x-backout-"
# Header with the expiry time, in milliseconds since 1970.
EXPIRES_AT = f"{OURS}expires-at"
ESCAPED = f"{OURS}property-"  # prefix for properties whose names are reserved
UNREADABLE = f"{OURS}unreadable"
GROUP_ID = "JMSXGroupID"
# A property; the console's pages need it to decompress a body.
CONTENT_ENCODING = "content-encoding"

TEXTS = (  # fields of ``NewMessage``, and their AMQP properties
    ("content_type", "content_type"),
    ("correlation_id", "correlation_id"),
    ("reply_to", "reply_to"),
    ("subject", "type"),
    ("producer", "app_id"),
)
INCOMING = (*TEXTS, ("message_id", "message_id"))
RESERVED = frozenset(
    {
        *(GROUP_ID, CONTENT_ENCODING),
        *("CC", "BCC"),  # other queues that get a copy of the message
        *("x-death", "x-first-death-exchange", "x-first-death-queue"),
        *("x-first-death-reason", "x-delivery-count", "x-delay"),
    }
)
# Header of a quorum queue: the number of earlier attempts.
DELIVERY_COUNT = "x-delivery-count"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LONGEST_TTL_MS = 2**32 - 1  # RabbitMQ closes the channel for a longer time to live
SHORT = 255  # most bytes of a short string, and of a header's name
HIGHEST, USUAL = 9, 4  # highest priority, and the default
TRANSIENT, PERSISTENT = 1, 2
INT64 = 2**63


def properties_of(
    message: NewMessage, *, message_id: str, now: datetime
) -> dict[str, Any]:
    """The AMQP properties of a message to send.

    Args:
        message_id: the new JMSMessageID.
        now: the time of the send; the remaining time to live counts from it.

    Raises:
        ValueError: the name of a property is too long for a header.
    """
    properties: dict[str, Any] = {
        "message_id": message_id,
        "timestamp": int(now.timestamp()),
        "delivery_mode": PERSISTENT if message.durable else TRANSIENT,
        "priority": message.priority,
    }
    headers = headers_of(message.properties) if message.properties else {}
    for field, name in TEXTS:
        text = getattr(message, field)
        if text is None or (field == "producer" and not text):
            continue
        if len(text) <= SHORT and len(text.encode()) <= SHORT:
            properties[name] = text
        else:
            headers[OURS + field] = text
    if message.group_id is not None:
        headers[GROUP_ID] = message.group_id
    if message.expires_at is not None:
        expire(properties, headers, message.expires_at, now)
    if encoding := encoding_of(message):
        properties["content_encoding"] = encoding
    if headers:
        properties[HEADERS] = headers
    return properties


def expire(
    properties: dict[str, Any], headers: dict[str, Any], moment: datetime, now: datetime
) -> None:
    """Add the expiry time: the exact time in a header of ours, and RabbitMQ's
    expiration."""
    left_ms = (moment - now) // MILLISECOND
    headers[EXPIRES_AT] = (moment - EPOCH) // MILLISECOND
    if left_ms <= LONGEST_TTL_MS:
        properties["expiration"] = str(max(left_ms, 0))


def headers_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as headers, without the content encoding.

    Raises:
        ValueError: the name of a property is too long.
    """
    headers = {}
    for name, value in properties.items():
        if name in RESERVED or name.startswith(OURS):
            if name == CONTENT_ENCODING and is_short(value):
                continue
            name = ESCAPED + name
        if len(name) * 4 > SHORT and len(name.encode()) > SHORT:
            raise ValueError(
                f"The name of its property {name[:40]!r}… is longer than {SHORT} bytes,"
                " the limit of AMQP 0-9-1."
            )
        kind = type(value)
        headers[name] = value if kind is str or kind is bool else header_value(value)
    return headers


def header_value(value: Any) -> Any:
    """A JSON value for py-amqp; a number beyond 64 bits becomes text."""
    if isinstance(value, int) and not -INT64 <= value < INT64:
        return str(value)
    if isinstance(value, dict):
        if any(len(name.encode()) > SHORT for name in value):
            return json.dumps(value)
        return {name: header_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [header_value(one) for one in value]
    return value


def encoding_of(message: NewMessage) -> str:
    """The content encoding that the sender gave; empty if none."""
    said = message.properties.get(CONTENT_ENCODING)
    if is_short(said):
        return str(said)
    if message.envelope is None:
        return ""
    packed = content_encoding(message.envelope)
    return packed if is_short(packed) else ""


def is_short(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.encode()) <= SHORT


def message_of(
    properties: Mapping[str, Any], body: bytes, *, address: str, now: datetime
) -> NewMessage:
    """A received message.

    Args:
        properties: the properties, decoded by py-amqp.
        address: the name of the destination it came from.
        now: the time of arrival; the time to live counts from it if there is no
            timestamp.
    """
    headers = properties.get(HEADERS) or {}
    message = NewMessage(address, body)
    for field, name in INCOMING:
        text = properties.get(name)
        if text is None and headers:
            text = headers.get(OURS + field)
        if text is not None:
            setattr(message, field, property_values.text(text))
    message.durable = properties.get("delivery_mode") == PERSISTENT
    message.priority = min(properties.get("priority", USUAL), HIGHEST)
    if headers:
        message.properties = document(headers)
        message.group_id = group_of(headers)
    if headers or "expiration" in properties:
        message.expires_at = expires_at(properties, headers, now)
    if encoding := properties.get("content_encoding"):
        said = {CONTENT_ENCODING: property_values.text(encoding)}
        message.properties = {**message.properties, **said}
    if message.content_type == bodies.ENCODED:
        message.envelope = envelope_of(message)
    return message


def group_of(headers: Mapping[str, Any]) -> str | None:
    group = headers.get(GROUP_ID)
    return None if group is None else property_values.text(group)


def unreadable(raw: bytes, body: bytes, *, address: str) -> NewMessage:
    """A message whose properties cannot be decoded; one property has their bytes in
    hexadecimal."""
    return NewMessage(address, body, properties={UNREADABLE: raw.hex()})


def expires_at(
    properties: Mapping[str, Any], headers: Mapping[str, Any], now: datetime
) -> datetime | None:
    """The expiry time of a message: from our header, or computed from its expiration.

    None if the time is out of range.
    """
    exact, left = headers.get(EXPIRES_AT), properties.get("expiration")
    try:
        if isinstance(exact, int):
            return EPOCH + exact * MILLISECOND
        if left is None:
            return None
        sent = properties.get("timestamp")
        since = now if sent is None else EPOCH + timedelta(seconds=sent)
        return since + int(left) * MILLISECOND
    except (OverflowError, ValueError):
        return None


def document(headers: Mapping[Any, Any]) -> dict[str, Any]:
    """Headers as JSON for the column ``properties``, without our own headers."""
    found = {}
    for given, value in headers.items():
        name = property_values.text(given)
        if name.startswith(ESCAPED):
            name = name[len(ESCAPED) :]
        elif name in (GROUP_ID, DELIVERY_COUNT) or name.startswith(OURS):
            continue
        found[name] = property_values.json_value(value)
    return found


def envelope_of(message: NewMessage) -> bytes | None:
    """An envelope for a body of encoded AMQP 1.0 sections, as a JMS map or list.

    Without it, AMQP 1.0 clients would get the body as bytes. The other fields come from
    the columns.
    """
    try:
        start, _ = bodies.stored(message.body, None)
    except AmqpError:
        return None
    if start or not message.body:
        return None
    fields: dict[int, Any] = {}
    if message.message_id is not None:
        fields[0] = identifier_of(message.message_id)
    envelope = sealed((with_fields(b"", fields),), b"", None)
    return bytes((envelope[0] | REPAIRED,)) + envelope[1:]
