"""Store messages and their entries: one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db import DataError

from broker import sql
from broker.errors import InvalidMessage, MessageTooLarge
from broker.errors.mq_codes import Completion, Reason
from broker.formats import moments, strict_json
from broker.formats.mq.descriptor import check_put
from broker.models import RoutingType

COLUMNS = {  # the parameters of put.sql, and the field of each
    "priority": "priorities",
    "routing_type": "routing_types",
    "durable": "durables",
    "expires_at": "expiries",
    "deliver_at": "dues",
    "content_type": "content_types",
    "producer": "producers",
    "message_id": "message_ids",
    "correlation_id": "correlation_ids",
    "reply_to": "reply_tos",
    "subject": "subjects",
    "group_id": "group_ids",
    "properties": "properties",
    "body": "bodies",
    "descriptor": "descriptors",
    "headers": "headers",
    "envelope": "envelopes",
}
# Parameters that are cut to one value if all values are equal.
CUT = {"priority", "durable", "content_type", "producer"}
FIELDS = attrgetter(*COLUMNS)
TIMES = ("expires_at", "deliver_at")
DOCUMENTS = {"properties", "descriptor"}
REPAIRED = 2  # flag in the first byte of an envelope: the columns override the envelope


@dataclass(slots=True)  # not frozen: creating a frozen object takes five times as long
class NewMessage:
    """A message to put."""

    address: str
    body: bytes = b""
    content_type: str = "application/octet-stream"
    properties: Mapping[str, Any] = field(default_factory=dict)  # names and JSON values
    priority: int = 4  # 0 to 9; messages with 9 are delivered first
    durable: bool = True
    expires_at: datetime | None = None
    deliver_at: datetime | None = None  # time before which the message is not delivered
    message_id: str | None = None  # the client's own id: JMSMessageID
    correlation_id: str | None = None
    reply_to: str | None = None
    subject: str | None = None  # JMSType
    group_id: str | None = None
    producer: str = ""
    # Type of the queues to reach; None: all queues.
    routing_type: RoutingType | None = None
    # Fields of IBM MQ's MQMD that differ from their defaults.
    descriptor: Mapping[str, Any] | None = None
    headers: bytes | None = None  # chain of IBM MQ headers before the body
    # Other sections of the AMQP message; see ``broker.amqp.messages``.
    envelope: bytes | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.body) + len(self.headers or b"") + len(self.envelope or b"")


@dataclass(slots=True)  # not frozen, for the same reason as ``NewMessage``
class Receipt:
    """The result of one put."""

    message_id: int  # the broker's number of the message
    queue_ids: list[int]  # queues that accepted the message; empty if none did
    # When the message was put; None if several were put, or a message with a delay.
    put_at: datetime | None = None
    reason: Reason = Reason.NONE  # why the put has a warning

    @property
    def completion(self) -> Completion:
        return Completion.OK if self.reason == Reason.NONE else Completion.WARNING


def store(
    address: str,
    messages: Sequence[NewMessage],
    *,
    uow: int | None,
    actor: str,
    now: datetime | None,
    looked: bool = False,
    refusing_ids: Sequence[int] = (),
) -> list[Receipt]:
    """Store messages by one statement. An empty list means: guarded queues or arrival
    rules must be checked first, and nothing was stored."""
    if not messages:
        return []
    common = {"address": address, "uow": uow, "actor": actor, "now": now}
    try:
        if len(messages) == 1 and messages[0].deliver_at is None and not looked:
            check_times(messages)
            stored = sql.run("put_one", values(messages[0]) | common)
            return [Receipt(*row) for row in stored]
        arrays = columns(messages)
        if arrays["expiries"] or arrays["dues"]:
            check_times(messages)
        refusing = {"looked": looked, "refusing_ids": list(refusing_ids)}
        taken = sql.run("put", arrays | common | refusing)
    except (DataError, UnicodeEncodeError) as error:
        raise InvalidMessage(str(error).splitlines()[0]) from error
    receipts = [
        receipt
        for takers, ids in taken
        for receipt in map(Receipt, ids, repeat(takers))
    ]
    return sorted(receipts, key=attrgetter("message_id"))


def check_times(messages: Sequence[NewMessage]) -> None:
    """Refuse times without an offset: PostgreSQL would take them for the session's.

    Raises:
        InvalidMessage: one has none.
    """
    for one in messages:
        for name in TIMES:
            at = getattr(one, name)
            if at is not None and at.tzinfo is None:
                try:
                    moments.required(at, name)
                except ValueError as error:
                    raise InvalidMessage(str(error)) from None


def values(message: NewMessage) -> dict[str, Any]:
    """The parameters of put_one.sql."""
    return {
        "priority": message.priority,
        "routing_type": message.routing_type,
        "durable": message.durable,
        "expires_at": message.expires_at,
        "content_type": message.content_type,
        "producer": message.producer,
        "message_id": message.message_id,
        "correlation_id": message.correlation_id,
        "reply_to": message.reply_to,
        "subject": message.subject,
        "group_id": message.group_id,
        "properties": document(message.properties) if message.properties else "{}",
        "body": message.body,
        "descriptor": document(message.descriptor) if message.descriptor else None,
        "headers": message.headers,
        "envelope": message.envelope,
    }


def columns(messages: Sequence[NewMessage]) -> dict[str, Any]:
    """The parameters of put.sql: an array of each field."""
    fields = zip(*map(FIELDS, messages), strict=True)
    return {
        name: column(field, values)
        for (field, name), values in zip(COLUMNS.items(), fields, strict=True)
    }


def column(field: str, values: tuple[Any, ...]) -> list[Any] | None:
    """One parameter array; None if no message has the field."""
    if field in DOCUMENTS:
        return documents(values) if any(values) else None
    first = values[0]
    if (first is None or field in CUT) and values.count(first) == len(values):
        return None if first is None else [first]
    return list(values)


def documents(values: Sequence[Any]) -> list[str | None]:
    """JSON documents as texts; one object in several messages is encoded once."""
    texts: dict[int, str] = {}
    for one in values:
        if one and id(one) not in texts:
            texts[id(one)] = document(one)
    return [texts.get(id(one)) for one in values]


def document(value: Any) -> str:
    """The JSON of properties, or of a descriptor.

    Raises:
        InvalidMessage: it has a value that JSON does not have.
    """
    try:
        return strict_json.dumps(value)
    except ValueError as error:
        raise InvalidMessage(f"of its properties, {error}") from None


def check(messages: Sequence[NewMessage]) -> None:
    """Refuse messages that no queue can take."""
    limit = settings.BROKER_MAX_MESSAGE_BYTES
    for message in messages:
        size = len(message.body)
        if message.headers or message.envelope:
            size = message.size_bytes
        if size > limit:
            raise MessageTooLarge(size, limit)
        if message.descriptor:
            check_put(message.descriptor, message.reply_to)
