"""Conversion between AMQP messages and messages of links.

A message that came by AMQP is sent on byte for byte, except for the fields that a JMS
send sets anew: id, destination, timestamp, user id and expiry.

Source:
    JMS 2.0, section 3.4, "Message headers": what the send sets. AMQP JMS Mapping.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from broker.amqp.messages import to_put, to_send
from broker.amqp.messages.compose import (
    JMS_DESTINATION,
    JMS_REPLY_TO,
    QUEUE,
    TOPIC,
    timestamp,
)
from broker.amqp.messages.convert import header_of
from broker.amqp.messages.delivery_annotations import AFTER, AT, moment
from broker.amqp.messages.envelope import EXPIRES, opened, sealed
from broker.amqp.messages.fast_decode import cut, fields_of
from broker.amqp.messages.splice import ANNOTATIONS, with_fields, with_pairs
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.sections import Header
from broker.amqp.protocol.types.types import Symbol
from broker.bridges.providers.interface import Destination, Received
from broker.queueing.get import Delivery as Handed
from broker.queueing.store import NewMessage

logger = logging.getLogger(__name__)

# Positions of fields in the properties section.
MESSAGE_ID, USER_ID, TO, EXPIRY, CREATION = 0, 1, 2, 8, 9
DELAYS = (*AT, AFTER)
DELIVERY_TIME = Symbol(AT[0])
IDENTITY = "user_identifier"  # name of the user id in IBM MQ's descriptor


def inbound(
    delivery: Delivery, source: Destination, came_at: datetime, *, counts: bool = True
) -> Received:
    """Decode a received message.

    Its destination is the source. The sender's ``to`` is ignored: it can be anything,
    and must not decide where a link puts the message.

    Args:
        delivery: the protocol's delivery.
        source: the source.
        came_at: the time of arrival; a time to live counts from it if there is no
            expiry time.
        counts: whether the provider counts delivery attempts. RabbitMQ does not: it
            only sets ``first-acquirer`` at the first delivery.
    """
    try:
        (message,) = to_put(
            delivery.payload,
            address=source.name,
            producer="",
            now=came_at,
            message_format=delivery.message_format,
            may_set_identity=True,
        )
        sections = cut(delivery.payload)
        said = fields_of(sections.properties) if sections.properties else (None,) * 13
    except (AmqpError, ValueError) as error:
        return unreadable(delivery, source, error)
    message.deliver_at = None  # the delivery delay is over
    if message.envelope is not None and message.envelope[0] & EXPIRES:
        apply_absolute_expiry(message, said[EXPIRY])
    header = sections.header or Header()
    failed = header.delivery_count
    return Received(
        message,
        handle=delivery,
        destination=source,
        message_id=message.message_id or "",
        sent_at=None if said[CREATION] is None else moment(said[CREATION]),
        redelivered=failed > 0 if counts else not header.first_acquirer,
        delivery_count=failed + 1 if counts else None,
    )


def apply_absolute_expiry(message: NewMessage, since_1970_ms: int) -> None:
    """Use the sender's absolute expiry time, as in JMS. Some providers send the
    original
    time to live, not the remaining one."""
    said = moment(since_1970_ms)
    if said is None or said == message.expires_at:
        return
    assert message.envelope is not None, "it has said so"
    kept = opened(message.envelope)
    message.expires_at = said
    message.envelope = sealed((kept.before,), kept.after, timestamp(said))


def unreadable(delivery: Delivery, source: Destination, error: Exception) -> Received:
    """A message that cannot be decoded, with all its bytes as the body."""
    logger.warning(
        "A message from %s cannot be decoded, and is forwarded unchanged: %s",
        source,
        error,
    )
    message = NewMessage(source.name, delivery.payload)
    return Received(message, handle=delivery, destination=source)


def outbound(
    message: NewMessage,
    target: Destination,
    *,
    address: str,
    message_id: str,
    now: datetime,
) -> bytes:
    """Encode all sections of a message to send.

    Args:
        message: the message; its columns override a flagged envelope
            (``bridges.messages.changed``).
        target: the target.
        address: the provider's address of the target.
        message_id: the JMSMessageID.
        now: the JMSTimestamp; the time to live counts from it.

    Raises:
        AmqpError, ValueError: AMQP cannot encode it.
    """
    handed = handed_out(message, address, message_id, now)
    payload = to_send(handed, now=now, from_topic=target.is_topic)
    if message.envelope is None and message.deliver_at is None:
        return payload
    sections = cut(payload)
    fields = {
        MESSAGE_ID: message_id,
        USER_ID: None,
        TO: address,
        EXPIRY: message.expires_at and timestamp(message.expires_at),
        CREATION: timestamp(now),
    }
    return b"".join(
        (
            header_of(handed, now),
            annotated(sections.annotations, message, target),
            with_fields(sections.properties, fields),
            sections.application_properties,
            sections.body,
            sections.footer,
        )
    )


def annotated(section: bytes, message: NewMessage, target: Destination) -> bytes:
    """The annotations to send: with the kind of the target; a delivery delay only if it
    is the message's own."""
    added: dict[Symbol, Any] = {JMS_DESTINATION: TOPIC if target.is_topic else QUEUE}
    without: tuple[str, ...] = DELAYS
    if message.reply_to is None:
        without += (JMS_REPLY_TO,)
    if message.deliver_at is not None:
        added[DELIVERY_TIME] = int(timestamp(message.deliver_at))
    return with_pairs(ANNOTATIONS, section, added, without)


def handed_out(
    message: NewMessage, address: str, message_id: str, now: datetime
) -> Handed:
    """A message as a delivery, as ``to_send`` needs it.

    The user id of the original put is left out: a provider that checks it expects the
    user of the factory.
    """
    descriptor = dict(message.descriptor or {})
    descriptor.pop(IDENTITY, None)
    return Handed(
        uow=0,
        queue_id=0,
        message_id=0,
        backout_count=0,
        delivery_count=1,
        priority=message.priority,
        address=address,
        body=message.body,
        content_type=message.content_type,
        properties=dict(message.properties),
        client_message_id=message_id,
        correlation_id=message.correlation_id,
        reply_to=message.reply_to,
        subject=message.subject,
        group_id=message.group_id,
        producer=message.producer,
        put_at=now,
        expires_at=message.expires_at,
        pos=0,
        durable=message.durable,
        descriptor=descriptor or None,
        headers=message.headers,
        envelope=message.envelope,
    )
