"""What a link cannot carry: copies of it on the dead message queues.

The built-in queue of this broker is always the first. A copy is put there in the
transaction that takes the message from its source. The configured ones come after it,
in their order, until one of them takes the copy.

Source:
    Open MQ, Administration Guide, "Message processing sequence across a JMS bridge".
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from django.db import transaction

from broker.bridges.batch import MILLISECOND, Dead
from broker.bridges.configured import context_of, destination_of, target_of
from broker.bridges.messages import changed
from broker.bridges.providers import local
from broker.bridges.providers.interface import Destination, ProviderSession, Received
from broker.bridges.resubmit import origin_of
from broker.bridges.transformers.running import transform
from broker.errors.bridges import (
    DeadMessageRefused,
    ProviderError,
    SendRefused,
    TransformerFailed,
)
from broker.formats.error_fingerprint import fingerprint, readable
from broker.models import Address, DeadLetter, DeadMessageQueue, Link, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE, LINK_PROPERTY
from broker.queueing.store import NewMessage, Receipt

logger = logging.getLogger(__name__)

PREFIX = "JMS_SUN_JMSBRIDGE_"
EPOCH_MS = 1000
ATTEMPTS, INTERVAL_S = 3, 5  # of the built-in queue
HEADERS = (
    *("message_id", "priority", "durable", "expires_at", "correlation_id"),
    *("reply_to", "subject", "group_id", "content_type"),
)


class Reach(Protocol):
    """How the configured queues of a bridge are reached."""

    @property
    def queues(self) -> Sequence[DeadMessageQueue]:
        """Those that are enabled, in their order."""

    def session(self, queue: DeadMessageQueue) -> ProviderSession:
        """A session with the provider of a queue, or a ``ProviderError``."""

    def drop(self, queue: DeadMessageQueue) -> None:
        """Have the next session with its provider be a new one."""

    def wait(self, seconds: float) -> object:
        """Until the next attempt."""


def copy_of(  # each is named where it is used
    link: Link,
    received: Received,
    *,
    reason: str,
    error: str,
    now: datetime,
    target: Destination | None = None,
) -> NewMessage:
    """A message as it lies on a dead message queue: its original, and what happened.

    It has no expiry of its own, so that it stays; when the original expires stands in a
    property.
    """
    original = received.message
    expires_at = original.expires_at
    told: dict[str, Any] = {
        "SOURCE_MESSAGEID": received.message_id,
        "SOURCE_TIMESTAMP": received.sent_at and milliseconds(received.sent_at),
        "SOURCE_EXPIRATION": expires_at and milliseconds(expires_at),
        "SOURCE_CORRELATIONID": original.correlation_id,
        "SOURCE_JMSTYPE": original.subject,
        "SOURCE_DESTINATION": str(received.destination),
        "SOURCE_PROVIDER": link.source_factory.name,
        "TARGET_DESTINATION": str(target_of(link) or "AS_SOURCE"),
        "TARGET_CURRENT_DESTINATION": target and str(target),
        "TARGET_PROVIDER": link.target_factory.name,
        "DMQ_REASON": reason,
        "DMQ_EXCEPTION": readable(error) or None,
        "DMQ_TIMESTAMP": milliseconds(now),
        "DMQ_BODY_TRUNCATED": False,
    }
    told = {PREFIX + name: value for name, value in told.items() if value is not None}
    told[LINK_PROPERTY] = str(link)
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
    """A dead message without what was written on it, to be carried again."""
    kept = {
        name: value
        for name, value in message.properties.items()
        if name != LINK_PROPERTY and not name.startswith(PREFIX)
    }
    if len(kept) == len(message.properties):
        return message
    return changed(message, properties=kept)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * EPOCH_MS)


def ensure() -> Queue:
    """The built-in queue, which is made where it is not there yet."""
    address, _ = Address.objects.get_or_create(name=BUILT_IN_QUEUE)
    queue, _ = Queue.objects.get_or_create(
        name=BUILT_IN_QUEUE, defaults={"address": address}
    )
    return queue


def send_elsewhere(link: Link, dead: Dead, reach: Reach) -> None:
    """Send a copy to the first configured queue that takes it."""
    for queue in reach.queues:
        if is_taken(link, queue, dead, reach):
            dead.is_elsewhere = True
            return


def is_taken(link: Link, queue: DeadMessageQueue, dead: Dead, reach: Reach) -> bool:
    """Try one queue, exactly as often as it says."""
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
    """What the queue's own transformer makes of a copy; where it fails, the copy."""
    if not queue.transformer:
        return message
    try:
        context = context_of(link, queue.properties)
        made = transform(queue.transformer, message, context, time_limit_s=None)
    except TransformerFailed as error:
        logger.warning("%s: %s: %s", link, queue.name, error)
        return message
    return made if isinstance(made, NewMessage) else message


def bury(link: Link, dead: Sequence[Dead]) -> list[Receipt]:
    """Put copies on the built-in queue, in the open transaction, each as a dead letter.

    Raises:
        DeadMessageRefused: it does not take them, and for one of them no other did.
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
            logger.error("%s: not taken: %s", link, told(one.message))
        raise DeadMessageRefused(str(link), refusal.why) from refusal
    enter(link, dead, receipts)
    return receipts


def told(message: NewMessage) -> dict[str, Any]:
    """All headers and properties of a message, for the log; never its body."""
    fields = (*HEADERS, "properties")
    return {name: getattr(message, name) for name in fields}


def enter(link: Link, dead: Sequence[Dead], receipts: Sequence[Receipt]) -> None:
    """Write down why each copy lies there, so that it is found like any dead letter."""
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
