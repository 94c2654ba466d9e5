"""Canary: an operation first sends a few messages, then parts three times as large.

After each part the operation waits until each of its messages has an outcome. It stops
at the third message that dies of a known error, and at the first that dies of another.
The decision is a pure function; nothing here sends a message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db.models import Count

from broker import sql
from broker.errors.operations import InvalidCanary
from broker.models import DeadLetter, Operation, OperationItem, OperationSchedule
from broker.operations import copy_outcomes, error_history
from broker.operations.error_history import Cause

Status, Outcome = OperationItem.Status, OperationItem.Outcome

USUAL = 10  # most messages of a canary by default
SHARE = 10  # by default, a canary has one of so many messages
FEWEST = 2  # an operation on one message needs no canary
LARGE = 100  # an operation on more messages gets a canary, if consumers get its copies
WATCHED = 1000  # most messages that can be watched
GROWTH = 3  # factor by which each part of the ramp is larger than the part before
REPEATS = 3  # deaths of one known error at which the operation stops itself
TRIED_FIRST = {Operation.Kind.RESUBMIT, Operation.Kind.MOVE}


class StopReason(StrEnum):
    """The reason why an operation stopped itself."""

    AGAIN = "again"  # messages died of a known error
    NEW = "new"  # messages died of a new error
    EXPIRED = "expired"  # all messages expired before a consumer got them
    UNTAKEN = "untaken"  # no consumer got the messages


@dataclass(frozen=True, slots=True)
class Halt:
    """The reason why an operation stopped itself, with numbers."""

    why: StopReason
    messages: int  # number of messages that died, expired or were not taken
    tried: int  # number of messages that were watched
    fingerprint: str = ""
    pattern: str = ""  # the error as text, without its numbers and names

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def read(stored: Mapping[str, Any]) -> Halt:
    return Halt(**{**stored, "why": StopReason(stored["why"])})


@dataclass(frozen=True, slots=True)
class Watch:
    """The outcomes of the messages of a trial, so far."""

    untouched: int  # still on their queue, never delivered
    under_way: int  # claimed by a consumer, or waiting for redelivery
    processed: int
    expired: int
    others: int  # moved or removed by an operator, or unknown
    deaths: Mapping[str, int]  # number of deaths by fingerprint

    @property
    def total(self) -> int:
        ended = self.processed + self.expired + self.others + sum(self.deaths.values())
        return self.untouched + self.under_way + ended


def judge(
    watch: Watch, known: Collection[str], waited: timedelta, patience: timedelta
) -> Halt | bool:
    """Whether an operation may go on after a trial.

    Args:
        watch: the outcomes of the trial.
        known: fingerprints of the errors that the messages had died of before the
            operation.
        waited: time since the last message of the trial was sent.
        patience: the longest time to wait until a consumer gets the messages.

    Returns:
        True: go on, all messages have an acceptable outcome. False: wait; a message
        that a consumer has received is waited for without limit. A Halt: stop.
    """
    if halt := too_deadly(watch, known):
        return halt
    if watch.under_way or (watch.untouched and waited < patience):
        return False
    if watch.untouched:
        return Halt(StopReason.UNTAKEN, watch.untouched, watch.total)
    if watch.expired and not watch.processed:
        return Halt(StopReason.EXPIRED, watch.expired, watch.total)
    return True


def too_deadly(watch: Watch, known: Collection[str]) -> Halt | None:
    """The error that too many messages died of; a new error takes precedence."""
    deaths = sorted(watch.deaths.items(), key=lambda death: (death[0] in known, death))
    for fingerprint, messages in deaths:
        if fingerprint not in known:
            return Halt(StopReason.NEW, messages, watch.total, fingerprint)
        if messages >= min(REPEATS, watch.total):
            return Halt(StopReason.AGAIN, messages, watch.total, fingerprint)
    return None


def next_part(part: int, tried: int) -> int:
    """The size of the next trial after a good one; 0: send all the rest.

    Args:
        part: number of messages of the last trial, from 1.
        tried: number of messages of all trials so far.
    """
    more = part * GROWTH
    return more if tried + more <= WATCHED else 0


def check(canaries: int) -> None:
    """Refuse a canary that is too large to be watched.

    Raises:
        InvalidCanary: the number of messages is not from 0 to ``WATCHED``.
    """
    if not 0 <= canaries <= WATCHED:
        raise InvalidCanary(canaries, WATCHED)


def usual(
    operation: Operation,
    messages: int,
    causes: Sequence[Cause],
    *,
    has_consumers: bool,
    has_patch: bool,
) -> int:
    """The default size of the canary of an operation: a tenth of its messages, at most
    ``USUAL``; 0 where it would show nothing that is not known.

    Args:
        operation: the planned operation.
        messages: number of its messages.
        causes: the most frequent errors that they died of, the first one first; of a
            large operation they are not needed.
        has_consumers: whether a consumer has ever got from the target queues.
        has_patch: whether the operation changes the messages.
    """
    if operation.undoes_id is not None or operation.kind not in TRIED_FIRST:
        return 0
    few = min(-(-messages // SHARE), USUAL)
    if messages > LARGE:
        may_die = has_consumers or operation.kind == Operation.Kind.RESUBMIT
        return few if may_die else 0
    if messages < FEWEST or not has_consumers:
        return 0
    is_of_one = bool(causes) and causes[0].messages > few
    is_unknown = has_patch or not all(map(is_processed_now, causes))
    return few if (has_patch or is_of_one) and is_unknown else 0


def is_processed_now(cause: Cause) -> bool:
    """Whether enough messages of a cause were resubmitted, and none died again."""
    return cause.processed >= USUAL and not cause.died


def pick(schedule: OperationSchedule) -> None:
    """Choose the messages of the canary, and collect the errors that they died of. The
    result is not saved."""
    schedule.chosen = sql.fetch(
        "pick_canaries", int, operation_id=schedule.pk, limit=schedule.canaries
    )
    schedule.causes = [one.fingerprint for one in error_history.whole(schedule.pk)]
    if schedule.chosen:
        schedule.stage = OperationSchedule.Stage.TRIAL
        schedule.part = schedule.to_send = len(schedule.chosen)


def watched(
    operation: Operation, schedule: OperationSchedule, now: datetime | None
) -> Watch:
    """Read the outcomes of the copies sent since the last halt, and record them."""
    items = copy_outcomes.open_items(operation.pk, limit=WATCHED)
    seen = copy_outcomes.look(items, now)
    copy_outcomes.note(operation, seen, now)
    counted = OperationItem.objects.filter(
        operation=operation, status=Status.DONE, copy_id__gt=schedule.forgiven_to
    )
    counts: dict[int, int] = {}
    deaths: dict[str, int] = {}
    rows = counted.values_list("outcome", "died_of").annotate(Count("id")).order_by()
    for outcome, died_of, messages in rows:
        if outcome == Outcome.DEAD:
            deaths[died_of] = messages
        elif outcome is not None:
            counts[outcome] = messages
    return Watch(
        untouched=len(seen.untouched),
        under_way=len(seen.under_way),
        processed=counts.get(Outcome.PROCESSED, 0),
        expired=counts.get(Outcome.EXPIRED, 0),
        others=counts.get(Outcome.TAKEN, 0) + counts.get(Outcome.UNKNOWN, 0),
        deaths=deaths,
    )


def verdict(
    operation: Operation, schedule: OperationSchedule, now: datetime
) -> Halt | bool:
    """Whether the operation may continue after its trial; see ``judge``."""
    assert schedule.watched_since is not None
    watch = watched(operation, schedule, now)
    patience = timedelta(seconds=settings.BROKER_CANARY_PATIENCE_S)
    found = judge(watch, schedule.causes or (), now - schedule.watched_since, patience)
    if isinstance(found, bool) or not found.fingerprint:
        return found
    letters = DeadLetter.objects.filter(fingerprint=found.fingerprint)
    pattern = letters.values_list("pattern", flat=True).first() or ""
    return Halt(found.why, found.messages, found.tried, found.fingerprint, pattern)
