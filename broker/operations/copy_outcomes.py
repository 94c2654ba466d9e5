"""Outcomes of the copies that an operation made: found in the journal, and recorded in
the ledger.

A look-up is bounded: it reads a fixed number of items, by the numbers of their copies.
Items without an outcome are read again later; the interval grows while no outcome
comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Q

from broker import sql
from broker.formats.error_fingerprint import fingerprint
from broker.models import (
    DeadLetter,
    Kind,
    Operation,
    OperationItem,
    OperationSchedule,
    Place,
)
from broker.operations import error_history, item_state
from broker.operations.item_state import ItemEntry
from broker.operations.items import Item, Reach
from broker.sql import database_now
from broker.sql.fencing import short_transaction

Outcome = OperationItem.Outcome

FOLLOWED = (Operation.Kind.RESUBMIT, Operation.Kind.MOVE, Operation.Kind.COPY)
SWEEP = 500  # items that one call reads
LONGEST_REST_S = 60
# Time after the end of an operation when the search for outcomes ends.
GIVEN_UP = timedelta(days=1)
BAD_ENDS = {Kind.DEAD_LETTER, Kind.DISCARD}
WORST = [
    Outcome.PROCESSED,
    Outcome.TAKEN,
    Outcome.UNKNOWN,
    Outcome.EXPIRED,
    Outcome.DEAD,
]


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """The outcome of the copy of one item."""

    outcome: OperationItem.Outcome
    died_of: str = ""  # fingerprint of the copy's error, if it is dead-lettered again


@dataclass(slots=True)
class OutcomeCheck:
    """The state of the copies of some items."""

    # Known outcomes, by item id.
    ends: dict[int, CopyOutcome] = field(default_factory=dict)
    # Ids of items whose copies were never delivered.
    untouched: set[int] = field(default_factory=set)
    # Ids of items whose copies were delivered and have no outcome yet.
    under_way: set[int] = field(default_factory=set)


def follows(operation: Operation) -> bool:
    """Whether consumers get the copies that an operation makes."""
    return operation.undoes_id is None and operation.kind in FOLLOWED


def open_items(operation_id: int, *, after: int = 0, limit: int = SWEEP) -> list[Item]:
    """Items whose copies have no known outcome, in their order."""
    return sql.fetch(
        "open_items", Item, operation_id=operation_id, after=after, limit=limit
    )


def look(items: Iterable[Item], now: datetime | None = None) -> OutcomeCheck:
    """Read the state or the outcome of the copies of items. Read-only."""
    items = list(items)
    seen = OutcomeCheck()
    parts = item_state.copies_of(items)
    here = waiting(parts, now)
    for part in parts:
        if (touched := here.get(part.spot)) is not None:
            (seen.under_way if touched else seen.untouched).add(part.item.pk)
    seen.untouched -= seen.under_way
    is_open = seen.untouched | seen.under_way
    ended = [part for part in parts if part.item.pk not in is_open]
    seen.ends = ends_of(ended)
    for item in items:
        if item.pk not in is_open:
            seen.ends.setdefault(item.pk, CopyOutcome(Outcome.UNKNOWN))
    return seen


def waiting(
    parts: Sequence[ItemEntry], now: datetime | None
) -> dict[item_state.Spot, bool]:
    """The entries still on their queue, and whether each entry was ever delivered."""
    by_queue: dict[int, list[int]] = defaultdict(list)
    for part in parts:
        by_queue[part.queue_id].append(part.message_id)
    return {
        (queue_id, found.id): found.place == Place.CLAIMED or found.delivery_count > 0
        for queue_id, ids in by_queue.items()
        for found in Reach(queue_id, now).find(ids)
    }


def ends_of(parts: Sequence[ItemEntry]) -> dict[int, CopyOutcome]:
    """The outcome of each item's copies; the worst outcome if there are several
    copies."""
    items = {part.spot: part.item.pk for part in parts}
    rows = [
        row
        for row in item_state.journalled("ends_of", {part.message_id for part in parts})
        if (row[0], row[1]) in items
    ]
    letters = letters_of(copy_id for *_, copy_id, _ in rows if copy_id is not None)
    ends: dict[int, CopyOutcome] = {}
    for queue_id, message_id, kind, copy_id, error in rows:
        item, end = items[queue_id, message_id], end_of(kind, copy_id, error, letters)
        known = ends.get(item, end)
        ends[item] = max(known, end, key=lambda one: WORST.index(one.outcome))
    return ends


def letters_of(copy_ids: Iterable[int]) -> Mapping[int, tuple[str, str]]:
    """Cause and fingerprint of the messages that are dead letters."""
    letters = DeadLetter.objects.filter(message_id__in=sorted(copy_ids))
    rows = letters.values_list("message_id", "cause", "fingerprint")
    return {message_id: (cause, found) for message_id, cause, found in rows}


def end_of(
    kind: int,
    copy_id: int | None,
    error: str,
    letters: Mapping[int, tuple[str, str]],
) -> CopyOutcome:
    """The outcome of one entry, by its last event in the journal."""
    cause, died_of = letters.get(copy_id or 0, ("", ""))
    if kind == Kind.EXPIRE or cause == DeadLetter.Cause.EXPIRED:
        return CopyOutcome(Outcome.EXPIRED)
    if cause and cause != DeadLetter.Cause.OPERATOR:
        return CopyOutcome(Outcome.DEAD, died_of)
    if kind in BAD_ENDS and not cause:
        return CopyOutcome(Outcome.DEAD, fingerprint(error).key)
    return CopyOutcome(Outcome.PROCESSED if kind == Kind.ACCEPT else Outcome.TAKEN)


def note(operation: Operation, seen: OutcomeCheck, now: datetime | None) -> int:
    """Record outcomes in the ledger; return the number of items. The caller has locked
    the schedule."""
    if not seen.ends:
        return 0
    ids = sorted(seen.ends)
    (noted,) = sql.fetch_one(
        "note_outcomes",
        ids=ids,
        outcomes=[seen.ends[one].outcome for one in ids],
        causes=[seen.ends[one].died_of for one in ids],
        resubmits=operation.kind == Operation.Kind.RESUBMIT,
        now=now,
    )
    return int(noted)


def unsettled(now: datetime | None = None) -> list[int]:
    """The operations whose copies are due for a look-up."""
    due = Q(look_at=None) | Q(look_at__lte=now or database_now())
    started = OperationSchedule.objects.filter(due, settled_at=None).exclude(
        operation__state=Operation.State.PLANNED
    )
    return list(started.values_list("pk", flat=True))


class Left(NamedTuple):
    """What is left to do for any operation."""

    # An operation is ``running`` or ``unsettled``, or a plan whose time has come.
    to_step: bool
    to_test: bool  # the patch of an operation is ``waiting``


def left(now: datetime | None = None) -> Left:
    """What is left to do for any operation. One query, asked every second."""
    return Left(*sql.fetch_one("operations_left", now=now))


@short_transaction()
def settle(
    operation_id: int, *, limit: int = SWEEP, now: datetime | None = None
) -> int:
    """Look up outcomes of some copies of an operation and record them; return the
    number of outcomes. Zero while another process does the same.

    Each call reads the next items, and starts again after the last item, until all
    items have an outcome.
    """
    schedules = OperationSchedule.objects.select_for_update(
        skip_locked=True, of=("self",)
    )
    schedule = schedules.select_related("operation").filter(pk=operation_id).first()
    if schedule is None or schedule.settled_at is not None:
        return 0
    moment = now or database_now()
    operation = schedule.operation
    items: list[Item] = []
    if follows(operation):
        items = open_items(operation_id, after=schedule.swept_to, limit=limit)
    seen = look(items, now)
    ended = note(operation, seen, now)
    if schedule.causes is None and any(end.died_of for end in seen.ends.values()):
        schedule.causes = [one.fingerprint for one in error_history.whole(operation_id)]
    is_round = len(items) < limit
    began = not schedule.swept_to
    schedule.swept_to = 0 if is_round else items[-1].pk
    if operation.ended_at and (
        (is_round and began and ended == len(items))
        or moment - operation.ended_at >= GIVEN_UP
    ):
        schedule.settled_at = moment
    rest(schedule, moment, is_idle=is_round and not ended)
    schedule.save(
        update_fields=["swept_to", "settled_at", "look_at", "idle_s", "causes"]
    )
    return ended


def rest(schedule: OperationSchedule, now: datetime, *, is_idle: bool) -> None:
    """Set the time of the next look-up; the longer there is no outcome, the later it
    is."""
    schedule.idle_s = min(schedule.idle_s * 2 or 1, LONGEST_REST_S) if is_idle else 0
    schedule.look_at = now + timedelta(seconds=schedule.idle_s)
