"""Messages that a ConnectionConsumer does not deliver, and their disposal.

These are messages with malformed headers, poison messages, and messages that no
selector matches. Each is disposed of by its report options, with a report if it asks
for one, in a transaction of its own. If that fails, a non-persistent message is
discarded; for a persistent one delivery stops (``stoppages``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from broker.errors import BrokerError, LockLost
from broker.errors.mq_codes import PutApplType, Reason
from broker.formats.mq.chain import chain_of
from broker.formats.mq.mqdlh import Signature
from broker.formats.selectors.documents import document
from broker.formats.selectors.parsing import Selector, parse
from broker.models import ConnectionConsumer, Kind, Place, Queue, RoutingType
from broker.queueing import report_messages
from broker.queueing.get import Delivery
from broker.queueing.transfer import Record
from broker.settlement import poison
from broker.settlement.discards import discard
from broker.settlement.move_targets import MoveTargets
from broker.settlement.poison import Attributes, Removing
from broker.settlement.redelivery_policy import BackoutQueue, NoPlace, Removal
from broker.settlement.settle import take_some

logger = logging.getLogger(__name__)

SIGNATURE = Signature(PutApplType.JAVA, "MQ JMS ConnectionConsumer")
WORDS: dict[Reason, str] = {
    Reason.JMS_FORMAT_ERROR: "has headers that cannot be read",
    Reason.MSG_NOT_MATCHED: "is matched by no ConnectionConsumer’s selector",
    Reason.BACKOUT_THRESHOLD_REACHED: "was backed out too often",
}
NOWHERE = "Message {} {}, and {} can be put nowhere. {}"
NOT_MOVED = "was backed out too often, and its backout queue refused it ({})"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A persistent message that cannot be disposed of; it stays in its place."""

    reason: Reason  # reason of the last failed put
    why: str  # for operators: the cause, and what they can do


@dataclass(frozen=True)
class NoneOf(Selector):
    """A selector that matches messages that none of the given selectors matches."""

    selectors: tuple[Selector, ...] = ()

    @classmethod
    def these(cls, selectors: Sequence[Selector]) -> NoneOf:
        first, text = selectors[0], "; ".join(one.text for one in selectors)
        return cls(text, first.condition, None, tuple(selectors))

    def matches(self, document: Any) -> bool:
        return not any(one.matches(document) for one in self.selectors)


def unfit(
    delivery: Delivery,
    attributes: Callable[[], Attributes],
    selectors: Sequence[Selector] | None = None,
) -> Removing | None:
    """The disposal of an undeliverable message; None if it can be delivered.

    Args:
        delivery: the delivery.
        attributes: returns the queue's attributes; called for redelivered ones only.
        selectors: selectors of which one must match; None if unwanted ones are kept.

    Source:
        IBM MQ, "Removing messages from the queue in ASF".
    """
    if is_malformed(delivery):
        return Removing(delivery, "", Reason.JMS_FORMAT_ERROR)
    if delivery.backout_count > 0:
        known = attributes()
        if known.is_poison(delivery.backout_count):
            return Removing(delivery, known.backout_queue)
    if selectors is not None:
        message = document(delivery)
        if not any(one.matches(message) for one in selectors):
            return Removing(delivery, "", Reason.MSG_NOT_MATCHED)
    return None


def is_malformed(delivery: Delivery) -> bool:
    """Whether a message's descriptor announces a header that cannot be read."""
    if delivery.descriptor is None and delivery.headers is None:
        return False  # most messages have neither
    chain = chain_of(
        delivery.descriptor, delivery.content_type, delivery.headers, delivery.body
    )
    return chain.error is not None


def selectors_on(queue: Queue) -> list[Selector] | None:
    """The selectors of all ConnectionConsumers on a queue, in all processes.

    None if no message can be unwanted: on a queue of publish/subscribe, or if a
    ConnectionConsumer has no selector.
    """
    if queue.routing_type != RoutingType.ANYCAST:
        return None
    rows = ConnectionConsumer.objects.filter(queue=queue)
    texts = set(rows.values_list("selector", flat=True))
    return None if "" in texts or not texts else [parse(text) for text in sorted(texts)]


def dispose(
    removing: Removing,
    *,
    user: Any = None,
    actor: str = "",
    now: datetime | None = None,
) -> Removal | Blocked:
    """Move an undeliverable message out of its unit of work, and send its report.

    Both are in one transaction, or in the caller's, if there is one. A blocked message
    stays in its unit of work.

    Raises:
        LockLost: the unit of work no longer holds it.
    """
    delivery, reason, what = removing.delivery, removing.why, "it"
    about = {"user": user, "actor": actor, "now": now}
    try:
        with transaction.atomic():
            removal = poison.take_away(
                removing, last=poison.Last.STOP, signature=SIGNATURE, **about
            )
            if isinstance(removal, BackoutQueue):
                return removal
            reason = removal.reason
            if isinstance(removal, NoPlace):
                to = settings.BROKER_DEAD_LETTER_QUEUE
                refusal = MoveTargets(delivery, user, now).refusal(to)
                if refusal is None:  # the queue has room again
                    return dispose(removing, **about)
                raise refusal
            what = "the report that it asks for"
            report_messages.send(delivery, reason, signature=SIGNATURE, **about)
            return removal
    except LockLost:
        raise
    except BrokerError as error:
        reason = reason or Reason.BACKOUT_THRESHOLD_REACHED
        words = WORDS.get(reason) or NOT_MOVED.format(reason.name)
        why = NOWHERE.format(delivery.message_id, words, what, error)
        if delivery.durable:
            return Blocked(error.reason, why)
        give_up(delivery, reason, why, actor=actor, now=now)
        return NoPlace(reason, error.reason)


@transaction.atomic
def give_up(
    delivery: Delivery,
    reason: Reason,
    why: str,
    *,
    actor: str,
    now: datetime | None,
) -> None:
    """Discard a non-persistent message that can be put nowhere, without a report."""
    held = take_some(delivery.uow, delivery.queue_id, [delivery.message_id], now)
    record = Record(Kind.DISCARD, Place.CLAIMED, delivery.uow, actor, now=now)
    discard(held, record, why=why, reason=reason)
