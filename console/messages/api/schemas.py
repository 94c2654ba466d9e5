"""Messages as the API describes them; ``console.messages.documents`` makes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from console.edges.rest.numbers import Numbered


class FullMessage(Numbered):
    """A complete message."""

    address: str
    body: str
    encoding: Literal["text", "base64"]  # how the body is encoded
    charset: str  # of the bytes that a text was read from; empty for base64
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
