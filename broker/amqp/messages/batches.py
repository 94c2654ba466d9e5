"""Batches: many messages in one byte string, as one Backout sends them to another.

    b"BOM1", length of the head   8 bytes
    head                          JSON: fields of the batch and of each message
    contents                      the bytes of each message, in order

A message that came by AMQP is encoded by ``to_send`` and decoded by ``to_put``, so its
envelope cannot contradict its columns. Its head has only the fields ``BESIDE_AMQP``:
AMQP has no such field (routing type, producer), rounds it (the time of expiry), or lets
the receiver ignore it (the time of delivery). Every other message is sent as its
columns, as AMQP cannot carry all of them: properties that are lists, texts of other
content types, a message without an id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from struct import Struct
from typing import Any, NamedTuple

from broker.amqp.messages.compose import EPOCH
from broker.amqp.messages.convert import to_put, to_send
from broker.amqp.messages.delivery_annotations import check_identity
from broker.amqp.messages.envelope import EXPIRES, EXPIRY, START
from broker.amqp.messages.outgoing_changes import milliseconds
from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError
from broker.errors import InvalidMessage
from broker.errors.messages import InvalidBatch
from broker.queueing.get import Delivery
from broker.queueing.message_files import BYTES, DEFAULTS, values_of
from broker.queueing.store import NewMessage

CONTENT_TYPE = "application/vnd.backout.messages"
MAGIC = b"BOM1"
FIXED = Struct(">4sI")

PLAIN = [(name, DEFAULTS[name]) for name in DEFAULTS if name not in BYTES]
VALUES = attrgetter(*(name for name, _ in PLAIN))
BESIDE_AMQP = ("routing_type", "expires_at", "deliver_at", "producer")
# Keys of a message in the head of the batch.
AMQP, SIZE, HEADERS = "amqp", "size", "headers"
MORE = "more"  # key for data about a message that is not part of the message


class BatchPart(NamedTuple):
    """A message of a batch, not decoded yet."""

    fields: dict[str, Any]
    content: bytes

    @property
    def address(self) -> str:
        """The address that the message is for."""
        found = self.fields.get("address")
        if not isinstance(found, str):
            raise InvalidBatch("a message of it has no address")
        return found


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """A decoded batch."""

    head: Mapping[str, Any]  # fields of the batch
    parts: Sequence[BatchPart]


def sealed(
    messages: Sequence[NewMessage],
    head: Mapping[str, Any] | None = None,
    more: Sequence[Mapping[str, Any]] | None = None,
) -> bytes:
    """Encode messages as a batch.

    Args:
        messages: the messages, in order.
        head: JSON values for the whole batch; the name ``messages`` is reserved.
        more: JSON values for each message, which are no part of it.
    """
    listed: list[dict[str, Any]] = []
    contents: list[bytes] = []
    for place, message in enumerate(messages):
        fields, content = packed(message)
        fields[SIZE] = len(content)
        if more is not None:
            fields[MORE] = more[place]
        listed.append(fields)
        contents.append(content)
    written = json.dumps({**(head or {}), "messages": listed}).encode()
    return b"".join((FIXED.pack(MAGIC, len(written)), written, *contents))


def packed(message: NewMessage) -> tuple[dict[str, Any], bytes]:
    """The head's fields of a message, and its content."""
    if message.envelope is not None:
        fields: dict[str, Any] = {"address": message.address, AMQP: True}
        for name in BESIDE_AMQP:
            if value := getattr(message, name):
                fields[name] = written(value)
        return fields, to_send(as_delivery(message), now=EPOCH)
    fields = {"address": message.address, "content_type": message.content_type}
    for (name, usual), value in zip(PLAIN, VALUES(message), strict=True):
        if value != usual:
            fields[name] = written(value)
    if message.headers is None:
        return fields, message.body
    fields[HEADERS] = len(message.headers)
    return fields, message.headers + message.body


def written(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def opened(body: bytes) -> MessageBatch:
    """Decode a batch; an empty body is a batch without messages.

    Raises:
        InvalidBatch: the body is not a batch.
    """
    if not body:
        return MessageBatch({}, ())
    head, at = head_of(body)
    listed = head.pop("messages", [])
    if not isinstance(listed, list):
        raise InvalidBatch("its messages are no list")
    parts = []
    for fields in listed:
        size = fields.pop(SIZE, None) if isinstance(fields, dict) else None
        if type(size) is not int or not 0 <= size <= len(body) - at:
            raise InvalidBatch("a message of it has no right size")
        parts.append(BatchPart(fields, body[at : at + size]))
        at += size
    if at != len(body):
        raise InvalidBatch("it is longer than its messages")
    return MessageBatch(head, parts)


def head_of(body: bytes) -> tuple[dict[str, Any], int]:
    """The head of a batch, and the offset of its end."""
    if len(body) < FIXED.size or not body.startswith(MAGIC):
        raise InvalidBatch("it does not begin as one")
    end = FIXED.size + FIXED.unpack_from(body)[1]
    if end > len(body):
        raise InvalidBatch("its head is cut off")
    try:
        head = json.loads(body[FIXED.size : end])
    except (ValueError, RecursionError):
        raise InvalidBatch("its head is no JSON") from None
    if not isinstance(head, dict):
        raise InvalidBatch("its head is no object")
    return head, end


def unpacked(part: BatchPart, whose: str | None = None) -> NewMessage:
    """Decode the message of a part.

    Args:
        part: the part.
        whose: the only user whose identity the message may carry; None allows any.

    Raises:
        InvalidMessage: it cannot be decoded, or carries another user's identity.
    """
    fields = dict(part.fields)
    fields.pop(MORE, None)
    try:
        if fields.pop(AMQP, False):
            return from_amqp(part, fields, whose)
        message = from_columns(part.content, fields)
        if whose is not None and message.descriptor:
            check_identity(message, None, whose)
        return message
    except AmqpError as error:
        raise InvalidMessage(describe_error(error)) from error
    except ValueError as error:
        raise InvalidMessage(str(error).rstrip(".")) from None


def from_columns(content: bytes, fields: dict[str, Any]) -> NewMessage:
    """Decode a message that is sent as its columns.

    Raises:
        ValueError: a field is unknown, or has a value of the wrong type.
    """
    size = fields.pop(HEADERS, None)
    if BYTES[1] in fields:
        raise ValueError("An envelope travels as AMQP only")
    message = NewMessage(**values_of(fields))
    if size is None:
        message.body = content
        return message
    if type(size) is not int or not 0 <= size <= len(content):
        raise ValueError("Its headers have no right size")
    message.headers, message.body = content[:size], content[size:]
    return message


def from_amqp(part: BatchPart, fields: dict[str, Any], whose: str | None) -> NewMessage:
    """Decode a message that is sent as AMQP; the head's fields override AMQP's.

    Raises:
        AmqpError: it cannot be decoded, or carries another user's identity.
        ValueError: a field of the head has a value of the wrong type.
    """
    if not fields.keys() <= {"address", *BESIDE_AMQP}:
        raise ValueError("Beside AMQP there is a field that AMQP has itself")
    better = NewMessage(**values_of(fields))
    (message,) = to_put(
        part.content,
        address=better.address,
        producer=better.producer,
        now=EPOCH,
        user=whose or "",
        may_set_identity=whose is None,
    )
    for name in BESIDE_AMQP:
        setattr(message, name, getattr(better, name))
    envelope = message.envelope
    if envelope is not None and envelope[0] & EXPIRES:
        remembered = EXPIRY.pack(milliseconds(message.expires_at))
        rest = envelope[START + EXPIRY.size :]
        message.envelope = envelope[:START] + remembered + rest
    return message


def describe_error(error: AmqpError) -> str:
    what = str(error).rstrip(".")
    if error.condition == UNAUTHORIZED_ACCESS:
        return f"{what}; a user with the authority passall may send it unchanged"
    return what


def as_put(one: Delivery) -> NewMessage:
    """A delivery as a message, as if it were put again."""
    return NewMessage(
        address=one.address,
        body=one.body,
        content_type=one.content_type,
        properties=one.properties,
        priority=one.priority,
        durable=one.durable,
        expires_at=one.expires_at,
        message_id=one.client_message_id,
        correlation_id=one.correlation_id,
        reply_to=one.reply_to,
        subject=one.subject,
        group_id=one.group_id,
        producer=one.producer,
        descriptor=one.descriptor,
        headers=one.headers,
        envelope=one.envelope,
    )


def as_delivery(message: NewMessage) -> Delivery:
    """A new message as a delivery; numbers that the broker assigns are 0."""
    return Delivery(
        uow=0,
        queue_id=0,
        message_id=0,
        backout_count=0,
        delivery_count=0,
        priority=message.priority,
        address=message.address,
        body=message.body,
        content_type=message.content_type,
        properties=dict(message.properties),
        client_message_id=message.message_id,
        correlation_id=message.correlation_id,
        reply_to=message.reply_to,
        subject=message.subject,
        group_id=message.group_id,
        producer=message.producer,
        put_at=EPOCH,
        expires_at=message.expires_at,
        pos=0,
        durable=message.durable,
        descriptor=None if message.descriptor is None else dict(message.descriptor),
        headers=message.headers,
        envelope=message.envelope,
    )
