"""Messages as clients write them, section by section, and as the broker keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from broker.amqp.messages import to_put, to_send
from broker.amqp.protocol.sections import Header, split
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Symbol
from broker.queueing.get import Delivery
from broker.queueing.store import NewMessage
from tests.make import NOON

HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS = 0x70, 0x71, 0x72
PROPERTIES, APPLICATION_PROPERTIES = 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78
NOON_MS = 1_773_489_600_000

PLACES = [
    *("message_id", "user_id", "to", "subject", "reply_to", "correlation_id"),
    *("content_type", "content_encoding", "absolute_expiry_time", "creation_time"),
    *("group_id", "group_sequence", "reply_to_group_id"),
]


def section(code: int, value: Any) -> bytes:
    return bytes((0, 0x53, code)) + encode(value)


def properties(**fields: Any) -> bytes:
    """The section; of what is not named, null."""
    return section(PROPERTIES, [fields.pop(name, None) for name in PLACES] + [*fields])


def annotated(**found: Any) -> bytes:
    """Annotations, with underscores for hyphens: ``x_opt_delivery_time``."""
    return section(
        ANNOTATIONS,
        {Symbol(name.replace("_", "-")): value for name, value in found.items()},
    )


def application(found: Mapping[str, Any]) -> bytes:
    return section(APPLICATION_PROPERTIES, dict(found))


def data(body: bytes = b"body") -> bytes:
    return section(DATA, body)


def came(payload: bytes, **others: Any) -> NewMessage:
    """One message that a client has put."""
    defaults: dict[str, Any] = {
        "address": "orders",
        "producer": "till 7",
        "now": NOON,
        "user": "shop",
    }
    (message,) = to_put(payload, **defaults | others)
    return message


def kept(message: NewMessage, **changes: Any) -> Delivery:
    """A message as a get hands it out, once it went through the columns."""
    fields: dict[str, Any] = {
        "uow": 1,
        "queue_id": 1,
        "message_id": 77,
        "backout_count": 0,
        "delivery_count": 1,
        "priority": message.priority,
        "address": message.address,
        "body": message.body,
        "content_type": message.content_type,
        "properties": json.loads(json.dumps(message.properties)),
        "client_message_id": message.message_id,
        "correlation_id": message.correlation_id,
        "reply_to": message.reply_to,
        "subject": message.subject,
        "group_id": message.group_id,
        "producer": message.producer,
        "put_at": NOON,
        "expires_at": message.expires_at,
        "pos": 77,
        "durable": message.durable,
        "descriptor": message.descriptor and json.loads(json.dumps(message.descriptor)),
        "headers": message.headers,
        "envelope": message.envelope,
    }
    return Delivery(**fields | changes)


def sent(message: NewMessage, *, now: datetime = NOON, **changes: Any) -> bytes:
    """What its consumer gets."""
    return to_send(kept(message, **changes), now=now)


def header_of(payload: bytes) -> Header:
    return split(payload).header or Header()


def without_header(payload: bytes) -> bytes:
    parts = split(payload)
    return b"".join(
        (
            parts.annotations,
            parts.properties,
            parts.application_properties,
            parts.body,
            parts.footer,
        )
    )
