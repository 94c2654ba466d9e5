"""The items of operations, counted by result, queue and target.

All counts are of its frozen set; later messages are not included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from broker.models import Operation, OperationItem, Queue
from broker.operations.batches import OF_DELAYED

State, Status = Operation.State, OperationItem.Status

SHORTEST = timedelta(seconds=1)  # shorter remaining times are not shown
# Kinds of operations that leave a message on its queue.
STAYS = {*OF_DELAYED, Operation.Kind.PRIORITY}


@dataclass(frozen=True, slots=True)
class MessageRoute:
    """How many messages go from one queue to another; empty: no queue."""

    on: str
    to: str
    messages: int


# Outcome of a copy; fingerprint if it became a dead letter.
End = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The items of one operation by result."""

    planned: int
    done: int
    skipped: int
    left_out: int  # left out of the plan; not in the total
    notices: int  # how many of ``left_out`` are notices of links
    ends: Counter[End]  # how the messages that were processed ended
    ways: list[MessageRoute]
    names: dict[int, str]  # names of the queues that the messages were on, by id
    sources: set[str]  # the same names; an empty name if a queue is deleted
    # reasons and numbers of messages, the most frequent first
    why_skipped: list[tuple[str, int]]
    goals: Counter[str]  # planned messages by the name of their target
    on: Counter[int]  # all messages by their queue's id, also those left out

    @property
    def total(self) -> int:
        return self.planned + self.done + self.skipped

    @property
    def handled(self) -> int:
        return self.done + self.skipped

    def left(self, started_at: datetime | None) -> timedelta | None:
        """The estimated remaining time, if it is worth showing."""
        if started_at is None or not self.handled:
            return None
        left = (timezone.now() - started_at) / self.handled * self.planned
        return left if left >= SHORTEST else None


def ledger_of(operation: Operation) -> Ledger:
    """Counts of an operation. Two queries, one of them over the items."""
    rows = list(
        operation.items.values_list(
            "queue_id", "target", "status", "note", "outcome", "died_of"
        )
        .annotate(messages=Count("id"))
        .order_by("-messages", "target", "queue_id")
    )
    names = dict(
        Queue.objects.filter(pk__in={row[0] for row in rows}).values_list("pk", "name")
    )
    ways: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    ends: Counter[End] = Counter()
    goals: Counter[str] = Counter()
    on: Counter[int] = Counter()
    notices = 0
    for queue_id, target, status, note, outcome, died_of, count in rows:
        counts[status] += count
        on[queue_id] += count
        if status == Status.LEFT_OUT:
            notices += count if note == OperationItem.NOTICE else 0
            continue
        if status == Status.PLANNED:
            goals[target] += count
        goes = operation.state != State.PLANNED or status == Status.PLANNED
        way = way_of(operation, names.get(queue_id, ""), target)
        # Zero counts are kept: a user must be authorized for these routes, too.
        ways[way] += count if goes else 0
        if status == Status.SKIPPED:
            notes[note] += count
        if status == Status.DONE:
            ends[outcome, died_of] += count
    return Ledger(
        counts[Status.PLANNED],
        counts[Status.DONE],
        counts[Status.SKIPPED],
        counts[Status.LEFT_OUT],
        notices,
        ends,
        [MessageRoute(*way, messages) for way, messages in ways.most_common()],
        names,
        {names.get(row[0], "") for row in rows},
        notes.most_common(),
        goals,
        on,
    )


def way_of(operation: Operation, source: str, target: str) -> tuple[str, str]:
    """Source and target. An undo has those of its operation, exchanged."""
    if operation.undoes_id is None:
        return source, target
    if operation.kind in STAYS:
        return source, source
    return target, source


def counts_of(ids: Iterable[int]) -> dict[int, Counter[str]]:
    """How many items of each operation have each status. One query."""
    counts: dict[int, Counter[str]] = {pk: Counter() for pk in ids}
    rows = (
        OperationItem.objects.filter(operation__in=counts)
        .values_list("operation_id", "status")
        .annotate(messages=Count("id"))
        .order_by()
    )
    for operation_id, status, messages in rows:
        counts[operation_id][status] = messages
    return counts
