"""Encode the sections of a message that was put without AMQP, from its columns.

Source:
    AMQP JMS Mapping, sections 3.1, "Types of JMS messages", and 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from broker.amqp.messages import bodies, mq_descriptor
from broker.amqp.messages.documents import amqp_value
from broker.amqp.messages.identifiers import identifier_of
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Byte, Symbol, Timestamp, UInt
from broker.formats.mq.descriptor import legible, own_id
from broker.queueing.get import Delivery

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LAST_MS = 253_402_300_799_999  # the end of the year 9999
ANNOTATIONS, PROPERTIES, APPLICATION_PROPERTIES = (
    bytes((0, 0x53, code)) for code in (0x72, 0x73, 0x74)
)
JMS_TYPE = Symbol("x-opt-jms-msg-type")
JMS_DESTINATION = Symbol("x-opt-jms-dest")
JMS_REPLY_TO = Symbol("x-opt-jms-reply-to")
QUEUE, TOPIC = Byte(0), Byte(1)


def made(
    delivery: Delivery, annotations: Mapping[Symbol, Any], *, from_topic: bool
) -> bytes:
    """All sections of a message but its header.

    Args:
        delivery: a delivery of a message that has no envelope.
        annotations: annotations beside those of JMS.
        from_topic: whether the consumer's queue is a subscription.
    """
    body = bodies.made(delivery)
    said = {
        JMS_TYPE: Byte(body.jms_type),
        JMS_DESTINATION: TOPIC if from_topic else QUEUE,
        **({JMS_REPLY_TO: QUEUE} if delivery.reply_to else {}),
        **annotations,
    }
    return b"".join(
        (
            ANNOTATIONS + encode(said),
            PROPERTIES + encode(properties(delivery, body.content_type)),
            application_properties(delivery),
            body.section,
        )
    )


def properties(delivery: Delivery, content_type: str | None) -> list[Any]:
    """The fields of the properties section, in order."""
    correlation = delivery.correlation_id
    return [
        message_id(delivery),
        None,  # the field user-id
        delivery.address,
        delivery.subject,
        delivery.reply_to,
        None if correlation is None else identifier_of(correlation),
        symbol(content_type),
        None,  # the field content-encoding
        None if delivery.expires_at is None else timestamp(delivery.expires_at),
        timestamp(delivery.put_at),
        delivery.group_id,
        group_sequence(delivery),
    ]


def message_id(delivery: Delivery) -> Any:
    if delivery.client_message_id is not None:
        return identifier_of(delivery.client_message_id)
    return f"ID:{own_id(delivery, settings.BROKER_NAME).hex()}"


def symbol(content_type: str | None) -> Symbol | None:
    """A content type as a symbol; None if it is not ASCII."""
    if content_type is None or not content_type.isascii():
        return None
    return Symbol(content_type)


def group_sequence(delivery: Delivery) -> UInt | None:
    if delivery.group_id is None:
        return None
    number = legible(delivery.descriptor or {}).get("msg_seq_number", 0)
    return UInt(number) if number > 0 else None


def application_properties(delivery: Delivery) -> bytes:
    """The application properties, and the properties that IBM MQ classes for JMS would
    add."""
    found = dict(mq_descriptor.properties_of(delivery)) if delivery.descriptor else {}
    found |= {name: amqp_value(value) for name, value in delivery.properties.items()}
    return APPLICATION_PROPERTIES + encode(found) if found else b""


def timestamp(moment: datetime) -> Timestamp:
    return Timestamp((moment - EPOCH) // MILLISECOND)
