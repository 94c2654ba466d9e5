"""The results of an operation: done, remaining, undone.

All counts are of its frozen set; later messages are not included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from broker import operations as orders
from broker.models import Operation, OperationItem, Queue
from broker.operations import OperationPreview
from broker.operations.previews import FINAL
from console.operations.wording import Said, Words, places, words_of

State, Status = Operation.State, OperationItem.Status

ASKS_NAME = 100  # messages; above that, the name of the queue must be typed
SHORTEST = timedelta(seconds=1)  # shorter remaining times are not shown
# kinds that leave a message on its queue
STAYS = {Operation.Kind.PRIORITY, Operation.Kind.DELIVER}


@dataclass(frozen=True, slots=True)
class MessageRoute:
    """How many messages go from one queue to another; empty: no queue."""

    on: str
    to: str
    messages: int


End = tuple[int | None, str]  # outcome of a copy, and its fingerprint if dead


@dataclass(frozen=True, slots=True)
class Ledger:
    """The items of one operation by result."""

    planned: int
    done: int
    skipped: int
    left_out: int  # left out of the plan; not in the total
    notices: int  # those of them that are notices of links
    ends: Counter[End]  # how the messages that were processed ended
    ways: list[MessageRoute]
    names: dict[int, str]  # names of the queues that the messages were on, by id
    sources: set[str]  # the same names, and an empty one for deleted queues
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
            "queue_id", "target", "status", "note", "fate", "died_of"
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
    for queue_id, target, status, note, fate, died_of, count in rows:
        counts[status] += count
        on[queue_id] += count
        if status == Status.LEFT_OUT:
            notices += count if note == OperationItem.NOTICE else 0
            continue
        if status == Status.PLANNED:
            goals[target] += count
        goes = operation.state != State.PLANNED or status == Status.PLANNED
        way = way_of(operation, names.get(queue_id, ""), target)
        ways[way] += count if goes else 0  # zero counts are kept, for authorization
        if status == Status.SKIPPED:
            notes[note] += count
        if status == Status.DONE:
            ends[fate, died_of] += count
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


def items_after(
    operation: Operation, status: str | None, after: int | None, count: int
) -> list[OperationItem]:
    """The next items of an operation, in the order of work.

    Args:
        operation: the operation.
        status: only items with this status; empty or None: all.
        after: the id of the item before.
        count: the largest number of items.
    """
    items = operation.items.filter(pk__gt=after or 0).order_by("pk")
    # The index has the items of each status in order: without it, PostgreSQL sorts all
    # items, or reads those of earlier operations.
    statuses = [status] if status else Status.values
    found = [item for one in statuses for item in items.filter(status=one)[:count]]
    return sorted(found, key=lambda item: item.pk)[:count]


def way_of(operation: Operation, source: str, target: str) -> tuple[str, str]:
    """Source and target. An undo has those of its operation, exchanged."""
    if operation.undoes_id is None:
        return source, target
    if operation.kind in STAYS:
        return source, source
    return target, source


def to_type(operation: Operation, ledger: Ledger) -> str:
    """The text to type before many messages are removed: the queue's name, or their
    number if they are on several queues; empty if not needed.
    """
    is_removal = operation.kind == Operation.Kind.REMOVE and not operation.undoes_id
    if not is_removal or ledger.total <= ASKS_NAME:
        return ""
    (name, *others) = sorted(ledger.sources)
    return name if name and not others else str(ledger.total)


def said_of(
    operation: Operation, ledger: Ledger, seen: OperationPreview | None = None
) -> Said:
    """Sentences about an operation, with its numbers and queues.

    Args:
        operation: the operation.
        ledger: its counts.
        seen: of a plan, what would become of it now, if that is known.
    """
    is_priority = operation.kind == Operation.Kind.PRIORITY
    is_plan = operation.state == State.PLANNED  # a patch may skip some of the messages
    return Said(
        words_of(operation),
        ledger.planned if is_plan else ledger.total,
        seen.will_go if seen else ledger.planned,
        ledger.done,
        places({way.on for way in ledger.ways}),
        operation.argument if is_priority else places({w.to for w in ledger.ways}),
        operation.undoes_id is not None,
    )


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation in a list."""

    operation: Operation
    counts: Counter[str]  # numbers of items by status
    undo: Counter[str] | None  # the same numbers of the operation that undoes it
    leaves_any: bool = True  # not all copies are known to be processed or expired

    @property
    def words(self) -> Words:
        return words_of(self.operation)

    @property
    def total(self) -> int:
        return self.counts.total() - self.counts[Status.LEFT_OUT]

    @property
    def done(self) -> int:
        return self.counts[Status.DONE]

    @property
    def skipped(self) -> int:
        return self.counts[Status.SKIPPED]

    @property
    def undoing(self) -> Operation | None:
        return undoing_of(self.operation)

    @property
    def undo_state(self) -> str:
        """The text before the number of the operation that undoes it."""
        if self.undoing is None or self.undo is None:
            return ""
        return undo_in_words(self.undoing, self.undo)

    @property
    def undo_until(self) -> datetime | None:
        return undo_until(self.operation, self.done) if self.leaves_any else None


def rows_of(operations: Sequence[Operation]) -> list[OperationRow]:
    """Operations with the counts of their items. Two queries."""
    undoing = [one for one in map(undoing_of, operations) if one]
    counts = counts_of({one.pk for one in (*operations, *undoing)})
    undos = {one.undoes_id: counts[one.pk] for one in undoing}
    rows = [OperationRow(one, counts[one.pk], undos.get(one.pk)) for one in operations]
    undoable = [row.operation.pk for row in rows if row.undo_until]
    items = OperationItem.objects.filter(operation__in=undoable, status=Status.DONE)
    left = items.exclude(fate__in=FINAL).values_list("operation_id", flat=True)
    leave_any = set(left.order_by().distinct())
    return [replace(row, leaves_any=row.operation.pk in leave_any) for row in rows]


def row_of(operation: Operation, ledger: Ledger) -> OperationRow:
    """One operation with counted items. One query, if it is undone."""
    counts = Counter(
        {
            Status.PLANNED.value: ledger.planned,
            Status.DONE.value: ledger.done,
            Status.SKIPPED.value: ledger.skipped,
            Status.LEFT_OUT.value: ledger.left_out,
        }
    )
    undoing = undoing_of(operation)
    undo = counts_of([undoing.pk])[undoing.pk] if undoing else None
    return OperationRow(operation, counts, undo)


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


def undoing_of(operation: Operation) -> Operation | None:
    """The operation that undoes this one; None if it is only planned."""
    undoing: Operation | None = getattr(operation, "undone_by", None)
    if undoing is None or (undoing.state == State.CANCELLED and not undoing.started_at):
        return None
    return undoing


def undo_in_words(undoing: Operation, counts: Counter[str]) -> str:
    """The progress or the result of an undo, before its number."""
    if undoing.state == State.PLANNED:
        return "undo planned,"
    if undoing.state == State.RUNNING:
        return "being undone by"
    done = counts[Status.DONE]
    if done == counts.total():
        return "undone by"
    return f"{done:,} of {counts.total():,} undone by"


def undo_until(operation: Operation, done: int) -> datetime | None:
    """The deadline of an undo, if one is possible now."""
    until = orders.undo_until(operation)
    undoing = undoing_of(operation)
    if undoing is not None and undoing.state != State.CANCELLED:
        return None
    return until if until and done and until > timezone.now() else None
