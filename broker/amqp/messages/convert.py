"""Conversion between AMQP messages and stored messages.

A message that came by AMQP is sent on byte for byte, except that its header is encoded
anew. The fields that the broker needs are in columns.

Source:
    AMQP 1.0, part 3, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from broker.amqp.messages import bodies
from broker.amqp.messages.anonymous_relay import bare
from broker.amqp.messages.compose import MILLISECOND, made
from broker.amqp.messages.death_annotations import OURS
from broker.amqp.messages.delivery_annotations import (
    check_identity,
    delayed_until,
    describe,
    is_wish,
    moment,
)
from broker.amqp.messages.envelope import LENGTH, START, opened, sealed
from broker.amqp.messages.fast_decode import PLACES, cut, document_of, fields_of
from broker.amqp.messages.identifiers import text_of
from broker.amqp.messages.mq_descriptor import ANNOTATIONS as IBM
from broker.amqp.messages.mq_descriptor import (
    JMS_BYTES,
    from_annotations,
    from_properties,
)
from broker.amqp.messages.outgoing_changes import (
    FOREVER,
    LOCKED_UNTIL,
    added_annotations,
    milliseconds,
    rewritten,
)
from broker.amqp.messages.splice import ANNOTATIONS, with_pairs
from broker.amqp.protocol.conditions import (
    DECODE_ERROR,
    NOT_IMPLEMENTED,
    RESOURCE_LIMIT_EXCEEDED,
    AmqpError,
)
from broker.amqp.protocol.sections import (
    Header,
    Sections,
    encode_header,
    map_of,
    split,
)
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.types import Symbol
from broker.formats import trace_context
from broker.queueing.get import Delivery
from broker.queueing.store import NewMessage

PLAIN, BATCH = 0, 0x80013700  # message formats; BATCH is Azure's format of a batch
MOST_IN_BATCH = 5000
HIGHEST = 9  # highest priority
# Up to this many bytes of annotations, the cached answer of ``is_silent`` is used.
SHORT = 200
LONGEST_TTL_MS = 2**32 - 1
NOTHING = (None,) * len(PLACES)
NONE: Mapping[Symbol, Any] = {}


def to_put(  # noqa: PLR0913  # each is named where it is used
    payload: bytes,
    *,
    address: str,
    producer: str,
    now: datetime,
    message_format: int = PLAIN,
    user: str = "",
    may_set_identity: bool = False,
) -> list[NewMessage]:
    """Decode the messages of a transfer: one, or those of a batch.

    Args:
        payload: all sections.
        address: the address it is put to, whatever ``to`` says.
        producer: the value of the column ``producer``.
        now: the time of arrival; time to live and delay count from it.
        message_format: the message format of the transfer.
        user: the user who has logged in.
        may_set_identity: whether it may carry another user's identity.

    Raises:
        AmqpError: it cannot be decoded, has an unknown format, or has an invalid
            field; ``amqp:unauthorized-access`` if it carries another user's identity.
    """
    whose = None if may_set_identity else user
    if message_format == PLAIN:
        return [one(payload, address, producer, now, whose)]
    if message_format != BATCH:
        why = f"The message format {message_format:#x} is not supported."
        raise AmqpError(NOT_IMPLEMENTED, why)
    return [one(part, address, producer, now, whose) for part in parts(payload)]


def parts(payload: bytes) -> Iterator[bytes]:
    """The messages of a batch: one in each data section.

    Source:
        Azure Service Bus, "AMQP 1.0 in Service Bus": the batch message format.
    """
    body = split(payload).body
    at, end, count = 0, len(body), 0
    while at < end:
        section, at = decode(body, at, end)
        if section.descriptor not in bodies.DATA_NAMES:
            raise AmqpError(DECODE_ERROR, "A batch must have data sections only.")
        count += 1
        if count > MOST_IN_BATCH:
            why = f"A batch has more than {MOST_IN_BATCH:,} messages."
            raise AmqpError(RESOURCE_LIMIT_EXCEEDED, why)
        yield section.value


def one(
    payload: bytes, address: str, producer: str, now: datetime, whose: str | None
) -> NewMessage:
    """Decode one message; ``whose`` is the identity it may carry, None for any."""
    sections = cut(payload)
    application, body = sections.application_properties, sections.body
    said = fields_of(sections.properties) if sections.properties else NOTHING
    message_id, user_id, _, subject, reply_to, correlation_id, content_type = said[:7]
    expiry, group_id = said[8], said[10]
    start, content_type = bodies.stored(body, content_type)
    message = NewMessage(
        address,
        body[start:] if start else body,
        content_type,
        document_of(application) if application else {},
        durable=False,
        message_id=text_of(message_id),
        correlation_id=text_of(correlation_id),
        reply_to=reply_to and column(bare(reply_to)),
        subject=subject and column(subject),
        group_id=group_id and column(group_id),
        producer=producer,
    )
    if sections.header is not None:
        take_header(message, sections.header, now)
    if message.expires_at is None and expiry is not None:
        message.expires_at = moment(expiry)
    annotations = sections.annotations
    asks = annotations and not (len(annotations) <= SHORT and is_silent(annotations))
    if asks or JMS_BYTES in application:
        annotations = take_wishes(message, sections, now)
    if whose is not None and (user_id or message.descriptor):
        check_identity(message, user_id, whose)
    if sections.footer:
        # Raises an error if no consumer could decode the footer.
        map_of(sections.footer)
    message.envelope = sealed(
        (annotations, sections.properties, application, body[:start]),
        sections.footer,
        None if expiry is None else milliseconds(message.expires_at),
    )
    return message


def column(text: str | None) -> str | None:
    """A text for a column: None if PostgreSQL cannot store it; the envelope keeps
    it."""
    return None if text is None or "\0" in text else text


def take_header(message: NewMessage, header: Header, now: datetime) -> None:
    """Set the header's fields. A priority above 9 becomes 9; a time to live of 0 is no
    time to live, as in JMS."""
    message.durable = header.durable
    message.priority = min(int(header.priority), HIGHEST)
    if header.ttl:
        message.expires_at = now + header.ttl * MILLISECOND


@lru_cache(maxsize=1024)  # most messages have one of a few sets of annotations
def is_silent(annotations: bytes) -> bool:
    """Whether no annotation is an instruction to the broker."""
    return not any(is_wish(str(name)) for name in map_of(annotations))


def take_wishes(message: NewMessage, sections: Sections, now: datetime) -> bytes:
    """Apply annotations and properties for the broker; return those to store."""
    annotations, application = sections.annotations, sections.application_properties
    asked: dict[str, Any] = {}
    if JMS_BYTES in application:
        asked = from_properties(map_of(application))
    if annotations:
        said = map_of(annotations)
        message.deliver_at = delayed_until(said, now)
        if context := trace_context.from_annotations(said):
            message.properties = {**message.properties, **context}
        if ours := from_annotations(said):
            asked |= ours
            annotations = with_pairs(ANNOTATIONS, annotations, {}, IBM)
    if asked:
        describe(message, asked, now)
    return annotations


def to_send(
    delivery: Delivery,
    *,
    now: datetime,
    from_topic: bool = False,
    as_azure: bool = False,
    annotations: Mapping[Symbol, Any] = NONE,
) -> bytes:
    """Encode all sections of a message for its consumer.

    Args:
        delivery: its backout count becomes the header's delivery count.
        now: the time, for the remaining time to live.
        from_topic: whether its queue is a subscription; it is written for JMS clients
            into messages that were put without AMQP.
        as_azure: whether its consumer is a client of Azure Service Bus, which needs a
            message id and the end of the lock.
        annotations: annotations that earlier consumers added.
    """
    header = header_of(delivery, now)
    stored = delivery.envelope
    if stored is None:
        more = {**annotations, **added_annotations(delivery, is_copy=True)}
        if as_azure:
            more[LOCKED_UNTIL] = FOREVER
        return header + made(delivery, more, from_topic=from_topic)
    if (
        as_azure
        or annotations
        or stored[0]
        or delivery.descriptor
        or delivery.headers
        or not OURS.isdisjoint(delivery.properties)
    ):
        kept = opened(stored)
        return header + rewritten(delivery, kept, annotations, as_azure=as_azure)
    end: int = START + LENGTH.unpack_from(stored, 1)[0]
    return b"".join((header, stored[START:end], delivery.body, stored[end:]))


def header_of(delivery: Delivery, now: datetime) -> bytes:
    if delivery.expires_at is None and not delivery.backout_count:
        return usual_header(delivery.priority, durable=delivery.durable)
    ttl_ms = None
    if delivery.expires_at is not None:
        left_ms = (delivery.expires_at - now) // MILLISECOND
        ttl_ms = min(max(left_ms, 1), LONGEST_TTL_MS)
    return encode_header(
        durable=delivery.durable,
        priority=delivery.priority,
        ttl_ms=ttl_ms,
        delivery_count=delivery.backout_count,
    )


@cache
def usual_header(priority: int, *, durable: bool) -> bytes:
    return encode_header(durable=durable, priority=priority)
