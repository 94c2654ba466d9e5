"""Messages as JSON, for the API and the command line."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any, Literal

from ninja import Schema

from broker.models import Place
from broker.monitoring.numbers import public_numbers
from broker.queueing.browse import Browsed
from broker.queueing.get import Delivery
from broker.security.redaction import CLEAR, Veil

FIELDS = (
    *("content_type", "properties", "client_message_id", "correlation_id"),
    *("reply_to", "subject", "group_id", "producer", "durable"),
)

PLACES = {
    "ready": Place.READY,
    "in-flight": Place.CLAIMED,
    "delayed": Place.DELAYED,
}


class Numbered(Schema):
    """The two numbers of a message. URLs, filters and operations accept both; a
    settlement names the copies that it holds, by ``message_id``."""

    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a ``message_id``, and the number of each message. One query."""
    numbers = public_numbers(row["message_id"] for row in rows)
    return [row | {"number": numbers[row["message_id"]]} for row in rows]


class FullMessage(Numbered):
    """A complete message."""

    address: str
    body: str
    encoding: Literal["text", "base64"]  # how the body is encoded
    content_type: str
    properties: dict[str, Any]
    priority: int
    durable: bool
    client_message_id: str | None
    correlation_id: str | None
    reply_to: str | None
    subject: str | None
    group_id: str | None
    producer: str
    put_at: datetime
    expires_at: datetime | None
    backout_count: int  # deliveries that were backed out
    headers_base64: str | None  # the chain of IBM MQ headers before the body
    # the fields of IBM MQ's MQMD that differ from their defaults
    descriptor: dict[str, Any] | None
    masked_by: list[str]  # names of the redaction rules that mask parts of it
    is_withheld: bool  # the whole body is masked; only its length is given


def written(body: bytes) -> tuple[str, Literal["text", "base64"]]:
    """A body as text if it is UTF-8, otherwise in Base64; and the encoding used."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"
    if "\0" in text:
        return base64.b64encode(body).decode(), "base64"
    return text, "text"


def told(one: Delivery, veil: Veil = CLEAR) -> dict[str, Any]:
    """A message as JSON, with its masked parts removed."""
    seen = veil.body(one.body, one.content_type)
    properties, hidden = veil.properties(one.properties)
    body, encoding = written(seen.body)
    plain = (*FIELDS, "message_id", "address", "priority", "put_at", "expires_at")
    return {
        **{name: getattr(one, name) for name in plain},
        "properties": properties,
        "body": body,
        "encoding": encoding,
        "backout_count": one.backout_count,
        "descriptor": one.descriptor,
        "masked_by": list(dict.fromkeys([*seen.by, *hidden])),
        "is_withheld": seen.is_withheld,
        "headers_base64": None
        if one.headers is None or veil
        else base64.b64encode(one.headers).decode(),
    }


class BrowsedMessage(Numbered):
    """A message on a queue."""

    priority: int
    backout_count: int
    until: datetime | None  # when its delay or its unit of work's time ends
    expires_at: datetime | None
    put_at: datetime
    content_type: str
    subject: str | None
    producer: str
    size_bytes: int


def brief(one: Browsed) -> dict[str, Any]:
    """An entry as JSON, without the number of its message."""
    plain = (name for name in BrowsedMessage.model_fields if name != "number")
    return {name: getattr(one, name) for name in plain}


class FoundMessage(Numbered):
    """One message on one queue."""

    queue: str
    state: str  # ready, delayed, in-flight, dead, discarded
    priority: int
    tries: int  # backout count; of a dead letter, before its death
    until: datetime | None  # when its delay, its unit of work or its keeping ends
    expires_at: datetime | None
    put_at: datetime | None
    address: str | None
    content_type: str | None
    subject: str | None
    client_message_id: str | None
    correlation_id: str | None
    producer: str | None
    size_bytes: int | None
    cause: str | None  # this field and those below: dead letters only
    error: str | None
    fingerprint: str | None
    origin_queue: str | None
    resubmit_count: int | None
    died_at: datetime | None
