"""Trying a few first: a canary, then parts three times as large, then the rest.

After each part the operation waits until all of it has ended. If messages die again of
what they had died of before, it stops at the third; of anything else, at the first.
What was seen of a part is judged by a pure rule; nothing here sends anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db.models import Count

from broker import sql
from broker.errors.operations import InvalidCanary
from broker.models import Course, DeadLetter, Operation, OperationItem
from broker.operations import copy_outcomes, error_history

Status, Fate = OperationItem.Status, OperationItem.Fate

USUAL = 10  # messages of a canary
LARGE = 100  # messages; an operation of more is tried first, if consumers get them
WATCHED = 1000  # messages that can be watched at most
GROWTH = 3  # times as many in the next part
REPEATS = 3  # deaths of one known cause that are too many
TRIED_FIRST = {Operation.Kind.RESUBMIT, Operation.Kind.MOVE}


class StopReason(StrEnum):
    """Why an operation stopped itself."""

    AGAIN = "again"  # they die of the same
    NEW = "new"  # they die of something else
    EXPIRED = "expired"  # before anybody had them
    UNTAKEN = "untaken"  # no consumer has had them


@dataclass(frozen=True, slots=True)
class Halt:
    """What an operation stopped at."""

    why: StopReason
    messages: int  # that are meant
    tried: int  # that were watched
    fingerprint: str = ""
    pattern: str = ""  # of the error, for people

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def read(stored: Mapping[str, Any]) -> Halt:
    return Halt(**{**stored, "why": StopReason(stored["why"])})


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of the messages of a trial."""

    untouched: int  # still on their queue, and nobody ever had them
    under_way: int  # with a consumer, or to be delivered again
    processed: int
    expired: int
    others: int  # taken away by somebody, or unknown
    deaths: Mapping[str, int]  # by fingerprint

    @property
    def total(self) -> int:
        ended = self.processed + self.expired + self.others + sum(self.deaths.values())
        return self.untouched + self.under_way + ended


def judge(
    watch: Watch, known: Collection[str], waited: timedelta, patience: timedelta
) -> Halt | bool:
    """Whether an operation may go on after a trial.

    Args:
        watch: what was seen.
        known: the fingerprints of what its messages had died of before.
        waited: since the last of the trial was sent.
        patience: for how long it waits for a consumer to take them.

    Returns:
        True: all of them have ended, and not badly. False: it is too early to say, and
        what a consumer had is waited for as long as it takes. Or at what it stops.
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
    """What dies that has not died before, or again and again; the new comes first."""
    deaths = sorted(watch.deaths.items(), key=lambda death: (death[0] in known, death))
    for fingerprint, messages in deaths:
        if fingerprint not in known:
            return Halt(StopReason.NEW, messages, watch.total, fingerprint)
        if messages >= min(REPEATS, watch.total):
            return Halt(StopReason.AGAIN, messages, watch.total, fingerprint)
    return None


def next_part(part: int, tried: int) -> int:
    """How many are tried after a part that went well; 0: all the rest may go.

    Args:
        part: messages of the last trial, from 1.
        tried: messages of all trials until now.
    """
    more = part * GROWTH
    return more if tried + more <= WATCHED else 0


def check(canaries: int) -> None:
    """Refuse a canary that could not be watched.

    Raises:
        InvalidCanary: it is not from 0 to ``WATCHED``.
    """
    if not 0 <= canaries <= WATCHED:
        raise InvalidCanary(canaries, WATCHED)


def usual(operation: Operation, messages: int, *, has_consumers: bool) -> int:
    """How many are tried first if nobody says otherwise.

    Args:
        operation: that is planned.
        messages: in its set.
        has_consumers: whether anybody ever took from the queues where they go.
    """
    if operation.undoes_id is not None or operation.kind not in TRIED_FIRST:
        return 0
    may_die = has_consumers or operation.kind == Operation.Kind.RESUBMIT
    return USUAL if messages > LARGE and may_die else 0


def pick(course: Course) -> None:
    """Choose the canary, and take note of what its messages died of. Not saved."""
    course.chosen = sql.fetch(
        "pick_canaries", int, operation_id=course.pk, limit=course.canaries
    )
    course.causes = [one.fingerprint for one in error_history.whole(course.pk)]
    if course.chosen:
        course.stage = Course.Stage.TRIAL
        course.part = course.to_send = len(course.chosen)


def watched(operation: Operation, course: Course, now: datetime | None) -> Watch:
    """Look at what was sent since the last halt; what ended is noted."""
    items = copy_outcomes.open_items(operation.pk, limit=WATCHED)
    seen = copy_outcomes.look(items, now)
    copy_outcomes.note(operation, seen, now)
    counted = OperationItem.objects.filter(
        operation=operation, status=Status.DONE, copy_id__gt=course.forgiven_to
    )
    counts: dict[int, int] = {}
    deaths: dict[str, int] = {}
    rows = counted.values_list("fate", "died_of").annotate(Count("id")).order_by()
    for fate, died_of, messages in rows:
        if fate == Fate.DEAD:
            deaths[died_of] = messages
        elif fate is not None:
            counts[fate] = messages
    return Watch(
        untouched=len(seen.untouched),
        under_way=len(seen.under_way),
        processed=counts.get(Fate.PROCESSED, 0),
        expired=counts.get(Fate.EXPIRED, 0),
        others=counts.get(Fate.TAKEN, 0) + counts.get(Fate.UNKNOWN, 0),
        deaths=deaths,
    )


def verdict(operation: Operation, course: Course, now: datetime) -> Halt | bool:
    """Whether the operation may go on after its trial, as ``judge`` has it."""
    assert course.watched_since is not None
    watch = watched(operation, course, now)
    patience = timedelta(seconds=settings.BROKER_CANARY_PATIENCE_S)
    found = judge(watch, course.causes or (), now - course.watched_since, patience)
    if isinstance(found, bool) or not found.fingerprint:
        return found
    letters = DeadLetter.objects.filter(fingerprint=found.fingerprint)
    pattern = letters.values_list("pattern", flat=True).first() or ""
    return Halt(found.why, found.messages, found.tried, found.fingerprint, pattern)
