"""Dead messages: copies of messages that a link cannot transfer.

A copy always goes to the built-in queue of this broker, in the transaction that takes
the message from its source. Before that, a copy is sent to the first configured dead
message queue that accepts it, in their order.

Source:
    Open MQ, Administration Guide, "Message processing sequence across a JMS bridge".
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction

from broker.bridges.batch import MILLISECOND, Dead, Notice
from broker.bridges.configured import destination_of, target_of
from broker.bridges.messages import changed
from broker.bridges.providers import local
from broker.bridges.providers.interface import Destination, Received
from broker.bridges.resubmit import origin_of
from broker.bridges.transformers.registry import Context
from broker.bridges.transformers.running import transform
from broker.config.names import ensure_address
from broker.errors.bridges import (
    DeadMessageRefused,
    ProviderError,
    SendRefused,
    TransformerFailed,
)
from broker.formats.error_fingerprint import fingerprint, readable
from broker.models import DeadLetter, DeadMessageQueue, Link, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE, LINK_PROPERTY, NOTICE_PROPERTY
from broker.queueing.store import NewMessage, Receipt

if TYPE_CHECKING:
    from broker.bridges.carrier import Carrier

logger = logging.getLogger(__name__)

PREFIX = "JMS_SUN_JMSBRIDGE_"
OURS = (LINK_PROPERTY, NOTICE_PROPERTY)
EPOCH_MS = 1000
# Number of attempts for the built-in queue, and seconds between them.
ATTEMPTS, INTERVAL_S = 3, 5
HEADERS = (
    *("message_id", "priority", "durable", "expires_at", "correlation_id"),
    *("reply_to", "subject", "group_id", "content_type"),
)


def copy_of(  # noqa: PLR0913  # each is named where it is used
    link: Link,
    received: Received,
    *,
    reason: str,
    error: str,
    now: datetime,
    target: Destination | None = None,
    notice: Notice | None = None,
) -> NewMessage:
    """The copy of a message for a dead message queue, with the reason in properties.

    It has no expiry, so that it stays; the expiry of the original is in a property.
    """
    original = received.message
    expires_at = original.expires_at
    goal = target_of(link)
    told: dict[str, Any] = {
        "SOURCE_MESSAGEID": received.message_id,
        "SOURCE_TIMESTAMP": received.sent_at and milliseconds(received.sent_at),
        "SOURCE_EXPIRATION": expires_at and milliseconds(expires_at),
        "SOURCE_CORRELATIONID": original.correlation_id,
        "SOURCE_JMSTYPE": original.subject,
        "SOURCE_DESTINATION": str(received.destination),
        "SOURCE_PROVIDER": link.source_factory.name,
        "TARGET_DESTINATION": str(goal or "AS_SOURCE"),
        "TARGET_CURRENT_DESTINATION": str(target or goal or received.destination),
        "TARGET_PROVIDER": link.target_factory.name,
        "DMQ_REASON": reason,
        "DMQ_EXCEPTION": readable(error) or None,
        "DMQ_TIMESTAMP": milliseconds(now),
        "DMQ_BODY_TRUNCATED": False,
    }
    told = {PREFIX + name: value for name, value in told.items() if value is not None}
    told[LINK_PROPERTY] = str(link)
    if notice is not None:
        told[NOTICE_PROPERTY] = str(notice)
    return changed(
        original,
        address=BUILT_IN_QUEUE,
        message_id=received.message_id or None,
        properties=dict(original.properties) | told,
        expires_at=None,
        deliver_at=None,
        routing_type=None,
        producer=f"link {link}"[:255],
    )


def as_it_was(message: NewMessage) -> NewMessage:
    """A dead message without the bridge's properties, for another transfer."""
    kept = {
        name: value
        for name, value in message.properties.items()
        if name not in OURS and not name.startswith(PREFIX)
    }
    if len(kept) == len(message.properties):
        return message
    return changed(message, properties=kept)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * EPOCH_MS)


@transaction.atomic
def ensure() -> Queue:
    """The built-in queue; it is created if it is missing."""
    address = ensure_address(BUILT_IN_QUEUE)
    queue, _ = Queue.objects.get_or_create(
        name=BUILT_IN_QUEUE, defaults={"address": address}
    )
    return queue


def send_elsewhere(link: Link, dead: Dead, reach: Carrier) -> None:
    """Send a copy to the first configured queue that accepts it."""
    for queue in reach.queues:
        if is_taken(link, queue, dead, reach):
            dead.is_elsewhere = True
            return


def is_taken(link: Link, queue: DeadMessageQueue, dead: Dead, reach: Carrier) -> bool:
    """Try one queue, up to its number of attempts; return whether it accepted the
    copy."""
    destination = destination_of(queue.destination)
    message = transformed(link, queue, dead.message)
    if queue.time_to_live_ms:
        until = dead.at + queue.time_to_live_ms * MILLISECOND
        message = changed(message, expires_at=until)
    for attempt in range(1, queue.send_attempts + 1):
        try:
            (refusal,) = reach.session(queue).send([message], destination)
        except ProviderError as error:
            refusal = SendRefused(error.factory, error.why)
            reach.drop(queue)
        if refusal is None:
            return True
        logger.warning(
            "%s: attempt %d to reach %s failed: %s", link, attempt, queue.name, refusal
        )
        if attempt < queue.send_attempts:
            reach.wait(queue.send_interval_s)
    return False


def transformed(link: Link, queue: DeadMessageQueue, message: NewMessage) -> NewMessage:
    """The copy after the queue's own transformer; the unchanged copy if that fails."""
    if not queue.transformer:
        return message
    try:
        context = Context.of(link, queue.properties)
        made = transform(queue.transformer, message, context, time_limit_s=None)
    except TransformerFailed as error:
        logger.warning("%s: %s: %s", link, queue.name, error)
        return message
    return made if isinstance(made, NewMessage) else message


def bury(link: Link, dead: Sequence[Dead]) -> list[Receipt]:
    """Put copies on the built-in queue as dead letters, in the open transaction.

    Raises:
        DeadMessageRefused: the built-in queue refuses the copies, and at least one of
            them is on no configured queue.
    """
    if not dead:
        return []
    try:
        with transaction.atomic():
            receipts = local.send([one.message for one in dead])
    except SendRefused as refusal:
        if all(one.is_elsewhere for one in dead):
            return []
        for one in dead:
            logger.error("%s: not taken: %s", link, fields_for_log(one.message))
        raise DeadMessageRefused(str(link), refusal.why) from refusal
    enter(link, dead, receipts)
    return receipts


def fields_for_log(message: NewMessage) -> dict[str, Any]:
    """The headers and properties of a message, for the log; the body is never
    logged."""
    fields = (*HEADERS, "properties")
    return {name: getattr(message, name) for name in fields}


def enter(link: Link, dead: Sequence[Dead], receipts: Sequence[Receipt]) -> None:
    """Insert dead letter rows for the copies, so that they are listed as dead
    letters."""
    rows = []
    for one, receipt in zip(dead, receipts, strict=True):
        error = readable(f"{one.reason}: {one.error}" if one.error else one.reason)
        group = fingerprint(error)
        rows += [
            DeadLetter(
                message_id=receipt.message_id,
                queue_id=queue_id,
                cause=DeadLetter.Cause.LINK,
                error=error,
                fingerprint=group.key,
                pattern=group.pattern,
                origin_address=one.received.destination.name,
                origin_queue=origin_of(link),
                origin_id=one.received.local_id or receipt.message_id,
                backout_count=(one.received.delivery_count or 1) - 1,
                resubmit_count=0,
                died_at=one.at,
            )
            for queue_id in receipt.queue_ids
        ]
    DeadLetter.objects.bulk_create(rows)
