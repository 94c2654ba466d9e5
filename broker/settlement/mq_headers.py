"""IBM MQ headers that a moved message gets: RFH2 or MQDLH."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.conf import settings

from broker.errors.mq_codes import Reason
from broker.formats.mq.chain import with_dead_letter_header, with_rfh2
from broker.formats.mq.descriptor import own_id
from broker.formats.mq.jms import folders_for_jms
from broker.formats.mq.mqdlh import Signature
from broker.queueing.get import Delivery
from broker.queueing.transfer import Dress


def for_backout_queue(delivery: Delivery) -> Dress:
    """Put an RFH2 before the body if there is none; change nothing else.

    Source:
        IBM MQ, "Handling poison messages in IBM MQ classes for JMS".
    """
    folders = folders_for_jms(delivery)
    stored = with_rfh2(
        delivery.descriptor,
        delivery.headers,
        content_type=delivery.content_type,
        folders=folders,
    )
    return identified(delivery, Dress(*stored))


def for_dead_letter_queue(
    delivery: Delivery, reason: Reason, queue: str, signature: Signature, at: datetime
) -> Dress:
    """Put a dead-letter header (MQDLH) with reason and origin before the body.

    Source:
        IBM MQ, "MQDLH - Dead-letter header".
    """
    stored = with_dead_letter_header(
        delivery.descriptor,
        delivery.headers,
        signature.header(reason, queue, at, settings.BROKER_NAME),
        content_type=delivery.content_type,
    )
    return identified(delivery, Dress(*stored))


def identified(delivery: Delivery, dress: Dress) -> Dress:
    """Keep the MsgId over the move, even if it was made from the broker's message
    number."""
    own = {"msg_id": own_id(delivery, settings.BROKER_NAME).hex()}
    return replace(dress, descriptor=own | dict(dress.descriptor))
