"""Poison messages as IBM MQ handles them: by the consumer, at the get.

The broker only counts. A consumer that gets a redelivered message reads two attributes
of its queue: BOTHRESH and BOQNAME. At the threshold it moves the message to the backout
queue, or by its report options to the dead letter queue or the discard bin.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from broker.config.address_settings import policy_of, settings_for
from broker.config.names import local_queue
from broker.errors import BrokerError, NoSuchQueue
from broker.errors.mq_codes import OpenOptions, Reason, Report
from broker.formats.mq import mqdlh
from broker.formats.mq.mqdlh import Signature
from broker.models import AddressSetting, DeadLetter, Kind, Place, Queue
from broker.queueing import journal, limits, mentions
from broker.queueing.get import Delivery
from broker.queueing.limits import refusal_now
from broker.queueing.transfer import Dress, Record, TakenEntry, copy, put_back
from broker.security import authorities
from broker.settlement.discards import discard
from broker.settlement.mq_headers import for_backout_queue, for_dead_letter_queue
from broker.settlement.redelivery_policy import (
    BackoutQueue,
    DeadLetterQueue,
    DiscardByReport,
    NoPlace,
    Removal,
    remove,
)
from broker.settlement.settle import take_some
from broker.sql import database_now

logger = logging.getLogger(__name__)

Policy = AddressSetting.PoisonPolicy
Cause = DeadLetter.Cause
# Checks the capacity of a queue for a number of bytes.
Full = Callable[[Queue, int], BrokerError | None]

UNDEFINED_THRESHOLD = 20  # threshold for queues that have no attribute to define it
# Delay before a listener gets a message again that no queue accepted.
RETRY_AFTER_MS = 5000
CAUSES: dict[Reason | None, DeadLetter.Cause] = {
    Reason.JMS_FORMAT_ERROR: Cause.MALFORMED,
    Reason.MSG_NOT_MATCHED: Cause.UNWANTED,
}
PUT_WITH_CONTEXT: Sequence[authorities.Authority] = ("put", "passall")
ASKED = "Its report options ask for it."
NOWHERE = "Neither its backout queue nor the dead letter queue takes it"
REFUSED = "Message %s of queue %s cannot be moved to queue %r: reason %d (%s). %s"
DISCARDED = "Message %s of queue %s is discarded: %s"


@dataclass(frozen=True, slots=True)
class Attributes:
    """Queue attributes that a consumer reads when it gets a redelivered message."""

    queue: str  # name of the local queue, after resolving an alias
    threshold: int  # BOTHRESH; 0: consumers move no messages away
    backout_queue: str  # BOQNAME; empty: there is no backout queue

    def is_poison(self, backout_count: int) -> bool:
        return 0 < self.threshold <= backout_count


@dataclass(frozen=True, slots=True)
class Removing:
    """A delivery to be moved away, and the reason."""

    delivery: Delivery
    backout_queue: str  # backout queue of its queue; empty: there is none
    why: Reason | None = None  # None: the message is poison

    @property
    def cause(self) -> DeadLetter.Cause:
        return CAUSES.get(self.why, Cause.BACKOUT_THRESHOLD)


class Last(Enum):
    """What to do with a message that no queue accepts, by the kind of consumer."""

    DISCARD = "discard"  # for a consumer that asked for a message
    RETURN = "return"  # for a listener
    STOP = "stop"  # for a ConnectionConsumer; the message stays on its queue


CONSUMER = Signature()


def attributes_of(
    name: str, *, user: Any = None, options: OpenOptions = OpenOptions.INQUIRE
) -> Attributes:
    """Read the attributes of a queue, as a client does by MQOPEN, MQINQ and MQCLOSE.

    Args:
        name: name of a local queue or an alias.
        user: the user who reads; None is the application itself.
        options: the options of MQOPEN (``open_options``).

    Raises:
        NoSuchQueue: no queue and no alias of a queue has this name.
        NotAuthorized: the user may not open the queue with these options.
    """
    queue = local_queue(name)
    authorities.require(user, "inquire", queue.name)
    if options & OpenOptions.INPUT_AS_Q_DEF:
        authorities.require(user, "get", queue.name)
    threshold = queue.backout_threshold
    if queue.kind == Queue.Kind.TEMPORARY and not threshold:
        threshold = UNDEFINED_THRESHOLD
    policy = policy_of(settings_for(queue.address.name), queue.backout_threshold)
    if policy not in (Policy.IBM, Policy.BOTH):
        threshold = 0
    return Attributes(queue.name, threshold, queue.backout_queue)


def open_options(*, is_clustered: bool, client: tuple[int, ...]) -> OpenOptions:
    """The options with which a client of this version opens a queue to inquire it.

    Source:
        IBM MQ, "Handling poison messages in IBM MQ classes for JMS": clients up to
        9.1.0.1, and 9.1.1, open cluster queues for input, too.
    """
    options = OpenOptions.INQUIRE | OpenOptions.FAIL_IF_QUIESCING
    is_old = client <= (9, 1, 0, 1) or (9, 1, 1) <= client < (9, 1, 2)
    if is_clustered and is_old:
        options |= OpenOptions.INPUT_AS_Q_DEF
    return options


@transaction.atomic
def take_away(
    removing: Removing,
    *,
    last: Last,
    user: Any = None,
    signature: Signature = CONSUMER,
    actor: str = "",
    now: datetime | None = None,
) -> Removal:
    """Move a poison or rejected message to another queue or the discard bin, out of its
    unit of work.

    This is one transaction, or part of the caller's transaction. With ``Last.STOP``, a
    message that no queue accepts stays in its unit of work.

    Raises:
        LockLost: the unit of work no longer holds the message.
    """
    delivery = removing.delivery
    removal = removal_of(removing, partial(refusal_of, delivery, user))
    if isinstance(removal, NoPlace) and last is Last.STOP:
        return removal
    held = take_some(delivery.uow, delivery.queue_id, [delivery.message_id], now)
    detail = {"error": journal.last_error(delivery.queue_id, delivery.message_id)}
    place = Place.CLAIMED
    record = Record(Kind.DEAD_LETTER, place, delivery.uow, actor, detail, now)
    match removal:
        case BackoutQueue(to):
            move(held, to, for_backout_queue(delivery), removing.cause, record)
        case DeadLetterQueue(reason):
            to = settings.BROKER_DEAD_LETTER_QUEUE
            name = Queue.objects.values_list("name", flat=True).get(
                pk=delivery.queue_id
            )
            at = now or database_now()
            dress = for_dead_letter_queue(delivery, reason, name, signature, at)
            move(held, to, dress, removing.cause, record, reason)
        case DiscardByReport(reason):
            discard(held, record, why=ASKED, reason=reason)
        case NoPlace(reason, refused) if last is Last.DISCARD:
            why = f"{NOWHERE} ({refused.name})."
            logger.warning(DISCARDED, *names_of(delivery), why)
            discard(held, record, why=why, reason=reason)
        case NoPlace():
            record = replace(record, kind=Kind.RELEASE)
            put_back(held, [RETRY_AFTER_MS], record)
    return removal


def removal_of(removing: Removing, refusal: Callable[[str], Reason | None]) -> Removal:
    return remove(
        removing.why,
        backout_queue=removing.backout_queue,
        dead_letter_queue=settings.BROKER_DEAD_LETTER_QUEUE,
        report=report_of(removing.delivery),
        refusal=refusal,
    )


def foresee(removing: Removing, *, user: Any = None) -> Removal:
    """Decide to which queue ``take_away`` would move a delivery now. Nothing is locked
    or logged."""

    def refusal(name: str) -> Reason | None:
        error = why_not(removing.delivery, user, name, full=limits.preview_refusal)
        return error.reason if error else None

    return removal_of(removing, refusal)


def move(
    held: list[TakenEntry],
    to: str,
    dress: Dress,
    cause: DeadLetter.Cause,
    record: Record,
    reason: Reason | None = None,
) -> None:
    """Copy taken entries to a queue, with the IBM MQ headers for that queue."""
    queue = local_queue(to)
    detail = record.detail | {"cause": cause.value}
    if reason is not None:
        detail["reason"] = int(reason)
    copy(
        held,
        queue.address.name,
        replace(record, detail=detail),
        cause=cause,
        only_queue=queue.name,
        dress=[dress],
    )


def refusal_of(delivery: Delivery, user: Any, name: str) -> Reason | None:
    """The reason why a queue refuses a delivery, or None; a reason is logged for the
    operator."""
    error = why_not(delivery, user, name)
    if error is None:
        return None
    reason = error.reason
    logger.warning(REFUSED, *names_of(delivery), name, reason, reason.name, error)
    return reason


def names_of(delivery: Delivery) -> tuple[str, str]:
    """A delivery's message and queue, for the log."""
    message = mentions.message(delivery.message_id, delivery.client_message_id)
    return message, mentions.queues([delivery.queue_id])


def why_not(
    delivery: Delivery, user: Any, name: str, *, full: Full = refusal_now
) -> BrokerError | None:
    try:
        queue = local_queue(name)
    except NoSuchQueue as error:
        return error
    held = authorities.held_by(user)
    for authority in PUT_WITH_CONTEXT:
        if not held.on(authority, queue.name):
            return authorities.refusal(user, authority, queue.name)
    return full(queue, size_on(delivery, name))


def size_on(delivery: Delivery, name: str) -> int:
    """The size in bytes of a delivery after its move, with its new headers."""
    if name == settings.BROKER_DEAD_LETTER_QUEUE:
        headers = len(delivery.headers or b"") + mqdlh.SIZE
    else:
        headers = len(for_backout_queue(delivery).headers or b"")
    return len(delivery.body) + headers


def report_of(delivery: Delivery) -> Report:
    return Report((delivery.descriptor or {}).get("report", 0))
