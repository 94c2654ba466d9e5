"""Poison messages as IBM MQ handles them: by the consumer, at the get.

The broker only counts. A consumer that gets a redelivered message reads two attributes
of its queue: BOTHRESH and BOQNAME. At the threshold it moves the message to the backout
queue, or by its report options to the dead letter queue or the discard bin.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DataError, transaction

from broker import sql
from broker.config.address_settings import policy_of, settings_for
from broker.config.names import local_queue
from broker.errors.mq_codes import OpenOptions, Reason, Report
from broker.formats.mq.mqdlh import Signature
from broker.models import AddressSetting, DeadLetter, Kind, Place, Queue
from broker.queueing import limits, mentions
from broker.queueing.get import Delivery, entry_of
from broker.queueing.transfer import (
    Dress,
    EndedUnit,
    Record,
    TakenEntry,
    copy,
    put_back,
    store_copies,
)
from broker.security import authorities
from broker.settlement.discards import discard
from broker.settlement.move_targets import MoveTarget, MoveTargets
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

logger = logging.getLogger(__name__)

Policy = AddressSetting.PoisonPolicy
Cause = DeadLetter.Cause

UNDEFINED_THRESHOLD = 20  # threshold for queues that have no attribute to define it
# Delay before a listener gets a message again that no queue accepted.
RETRY_AFTER_MS = 5000
CAUSES: dict[Reason | None, DeadLetter.Cause] = {
    Reason.JMS_FORMAT_ERROR: Cause.MALFORMED,
    Reason.MSG_NOT_MATCHED: Cause.UNWANTED,
}
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
    targets = MoveTargets(delivery, user, now)
    removal = removal_of(removing, partial(refusal_of, targets))
    if isinstance(removal, NoPlace) and last is Last.STOP:
        return removal
    held = take_some(delivery.uow, delivery.queue_id, [delivery.message_id], now)
    record = record_of(removing, removal, targets.error, actor=actor, now=now)
    if (to := name_of(removal)) is not None:
        target = targets.target(to)
        copy(
            held,
            target.address,
            record,
            cause=removing.cause,
            only_queue=target.name,
            dress=[dress_of(delivery, removal, target, signature)],
        )
        return removal
    match removal:
        case DiscardByReport(reason):
            discard(held, record, why=ASKED, reason=reason)
        case NoPlace(reason, refused) if last is Last.DISCARD:
            why = f"{NOWHERE} ({refused.name})."
            logger.warning(DISCARDED, *names_of(delivery), why)
            discard(held, record, why=why, reason=reason)
        case _:
            record = replace(record, kind=Kind.RELEASE)
            put_back(held, [RETRY_AFTER_MS], record)
    return removal


def move_alone(
    removing: Removing,
    *,
    user: Any = None,
    signature: Signature = CONSUMER,
    actor: str = "",
    now: datetime | None = None,
) -> Removal | None:
    """As ``take_away``, for the only message of its unit of work, and outside of a
    transaction: one statement moves it, and ends the unit of work.

    Returns:
        None if this is no matter of one statement, or something has changed since it
        was read; then nothing was changed.
    """
    delivery = removing.delivery
    targets = MoveTargets(delivery, user, now, full=limits.preview_refusal)
    removal = removal_of(removing, targets.reason)
    if (to := name_of(removal)) is None:
        return None
    if isinstance(removal, DeadLetterQueue) and report_of(delivery):
        return None  # a report may be sent with it
    target = targets.target(to)
    if target.is_guarded:  # it must be locked
        return None
    record = record_of(removing, removal, target.error, actor=actor, now=now)
    try:
        store_copies(
            [TakenEntry(*entry_of(delivery))],
            target.only,
            [set()],
            record,
            removing.cause,
            dress=[dress_of(delivery, removal, target, signature)],
            lifetime=None,
            ending=EndedUnit(delivery.uow, target.policy, target.route),
        )
    except DataError as error:
        if not sql.is_refusal(error):
            raise
        return None
    return removal


def record_of(
    removing: Removing,
    removal: Removal,
    error: str,
    *,
    actor: str,
    now: datetime | None,
) -> Record:
    """The data of a removal for its journal event."""
    detail: dict[str, Any] = {"error": error}
    if name_of(removal) is not None:
        detail["cause"] = removing.cause.value
    if isinstance(removal, DeadLetterQueue):
        detail["reason"] = int(removal.reason)
    uow = removing.delivery.uow
    return Record(Kind.DEAD_LETTER, Place.CLAIMED, uow, actor, detail, now)


def name_of(removal: Removal) -> str | None:
    """The name of the queue that a message is moved to."""
    match removal:
        case BackoutQueue(to):
            return to
        case DeadLetterQueue():
            return str(settings.BROKER_DEAD_LETTER_QUEUE)
    return None


def dress_of(
    delivery: Delivery, removal: Removal, target: MoveTarget, signature: Signature
) -> Dress:
    """The headers of the message on its new queue."""
    if not isinstance(removal, DeadLetterQueue):
        return for_backout_queue(delivery)
    reason, at = removal.reason, target.at
    return for_dead_letter_queue(delivery, reason, target.origin, signature, at)


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
    targets = MoveTargets(removing.delivery, user, full=limits.preview_refusal)
    return removal_of(removing, targets.reason)


def refusal_of(targets: MoveTargets, name: str) -> Reason | None:
    """The reason why a queue refuses a delivery, or None; a reason is logged for the
    operator."""
    error = targets.refusal(name)
    if error is None:
        return None
    reason = error.reason
    said = name, reason, reason.name, error
    logger.warning(REFUSED, *names_of(targets.delivery), *said)
    return reason


def names_of(delivery: Delivery) -> tuple[str, str]:
    """A delivery's message and queue, for the log."""
    message = mentions.message(delivery.message_id, delivery.client_message_id)
    return message, mentions.queues([delivery.queue_id])


def report_of(delivery: Delivery) -> Report:
    return Report((delivery.descriptor or {}).get("report", 0))
