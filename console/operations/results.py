"""The results of an operation: done, remaining, undone.

All counts are of its frozen set; later messages are not included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext

from broker import operations as orders
from broker.acts.operations.ledgers import Ledger, counts_of
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Operation, OperationItem
from broker.operations import OperationPreview
from broker.operations.previews import FINAL
from console.edges.times import in_zone
from console.operations.wording import OperationSentences, places, words_of
from console.operations.words import Words

State, Status = Operation.State, OperationItem.Status

MINUTES = len("2026-11-30 02:00")
ASKS_NAME = 100  # for more messages, a user must type the name of the queue


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


def to_type(operation: Operation, ledger: Ledger) -> str:
    """The text to type before many messages are removed: the queue's name, or their
    number if they are on several queues; empty if not needed.
    """
    is_removal = operation.kind == Operation.Kind.REMOVE and not operation.undoes_id
    if not is_removal or ledger.total <= ASKS_NAME:
        return ""
    (name, *others) = sorted(ledger.sources)
    return name if name and not others else str(ledger.total)


def describe_operation(
    operation: Operation, ledger: Ledger, seen: OperationPreview | None = None
) -> OperationSentences:
    """Sentences about an operation, with its numbers and queues.

    Args:
        operation: the operation.
        ledger: its counts.
        seen: of a plan, what would become of it now, if that is known.
    """
    # The total of a plan leaves out the messages that its patch skips.
    is_plan = operation.state == State.PLANNED
    return OperationSentences(
        words_of(operation),
        ledger.planned if is_plan else ledger.total,
        seen.will_go if seen else ledger.planned,
        ledger.done,
        places({way.on for way in ledger.ways}),
        in_place(operation) or places({way.to for way in ledger.ways}),
    )


def in_place(operation: Operation) -> str:
    """What messages get that stay on their queue: a priority, or a due time in the
    user's time zone."""
    match operation.kind:
        case Operation.Kind.PRIORITY:
            return operation.argument
        case Operation.Kind.RESCHEDULE:
            return in_zone(moments.parse(operation.argument))[:MINUTES]
    return ""


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
    def undone(self) -> int:
        """How many messages the operation that undoes it has put back."""
        return self.undo[Status.DONE] if self.undo else 0

    @property
    def to_undo(self) -> int:
        return self.undo.total() if self.undo else 0

    @property
    def undo_state(self) -> str:
        """The operation that undoes it, and its progress or result."""
        if self.undoing is None or self.undo is None:
            return ""
        return undo_in_words(self.undoing, self.undone, self.to_undo)

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
    left = items.exclude(outcome__in=FINAL).values_list("operation_id", flat=True)
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


def undoing_of(operation: Operation) -> Operation | None:
    """The operation that undoes this one; None if it is only planned."""
    undoing: Operation | None = getattr(operation, "undone_by", None)
    if undoing is None or (undoing.state == State.CANCELLED and not undoing.started_at):
        return None
    return undoing


def undo_in_words(undoing: Operation, undone: int, total: int) -> str:
    """The progress or the result of an undo, with its number."""
    match undoing.state:
        case State.PLANNED:
            text = gettext("undo planned, %(number)s")
        case State.RUNNING:
            text = gettext("being undone by %(number)s")
        case _ if undone == total:
            text = gettext("undone by %(number)s")
        case _:
            text = gettext("%(n)s of %(total)s undone by %(number)s")
    counts = {"n": write_count(undone), "total": write_count(total)}
    return text % {"number": undoing.pk, **counts}


def undo_until(operation: Operation, done: int) -> datetime | None:
    """The deadline of an undo, if one is possible now."""
    until = orders.undo_until(operation)
    undoing = undoing_of(operation)
    if undoing is not None and undoing.state != State.CANCELLED:
        return None
    return until if until and done and until > timezone.now() else None
