"""Preview of an operation: the outcome of each item if it ran now. Read-only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from broker.models import Discarded, Operation, OperationItem, Queue
from broker.operations import item_state
from broker.operations.batches import ItemBatch, batches
from broker.operations.items import Item, planned
from broker.operations.outcomes import Outcome
from broker.operations.undoing import IN_PLACE

SCAN = 2000  # most items that are read at once
CHUNK = 500
# Most items that are read for the answer to whether anything can be undone.
MOST_READ = 5000
# Items whose copies ended like this can never be undone.
FINAL = (OperationItem.Outcome.PROCESSED, OperationItem.Outcome.EXPIRED)
Look = tuple[Outcome, int, str]  # expected outcome, queue and target of an item


@dataclass(frozen=True, slots=True)
class PreviewPart:
    """Items with the same expected outcome, queue and target."""

    outcome: Outcome
    queue: str  # the present queue; for an undo, the queue that the items return to
    target: str  # the target queue or address; empty if the items are deleted or stay
    messages: int


@dataclass(frozen=True, slots=True)
class OperationPreview:
    """The expected outcomes of the items that are still planned."""

    operation_id: int
    parts: list[PreviewPart]  # the part with the most messages first

    @property
    def total(self) -> int:
        return sum(part.messages for part in self.parts)

    @property
    def counts(self) -> Counter[Outcome]:
        """The number of items with each expected outcome."""
        counts: Counter[Outcome] = Counter()
        for part in self.parts:
            counts[part.outcome] += part.messages
        return counts

    @property
    def will_go(self) -> int:
        return self.counts[Outcome.WILL_GO]


def preview(operation_id: int, *, now: datetime | None = None) -> OperationPreview:
    """The expected outcome of each item that is still planned."""
    operation = Operation.objects.select_related("created_by").get(pk=operation_id)
    look = outlook if operation.undoes_id is None else outlook_of_undo
    counts: Counter[Look] = Counter()
    after = 0
    while items := planned(operation_id, limit=SCAN, after=after):
        counts.update(look(operation, items, now))
        after = items[-1].pk
    counts = within_room(operation, counts, now)
    names = dict(Queue.objects.values_list("pk", "name"))
    parts = [
        PreviewPart(outcome, names.get(queue_id, ""), target, messages)
        for (outcome, queue_id, target), messages in counts.most_common()
    ]
    return OperationPreview(operation_id, parts)


def within_room(
    operation: Operation, counts: Counter[Look], now: datetime | None
) -> Counter[Look]:
    """The counts; messages for which a target queue has no room are counted as FULL."""
    left: dict[str, int | None] = {}
    bounded: Counter[Look] = Counter()
    for (outcome, queue_id, target), messages in counts.items():
        go = messages
        if outcome is Outcome.WILL_GO and operation.undoes_id is None and target:
            if target not in left:
                left[target] = ItemBatch(operation, queue_id, target, [], now).room()
            if (room := left[target]) is not None:
                go = min(messages, room)
                left[target] = room - go
        bounded[outcome, queue_id, target] += go
        bounded[Outcome.FULL, queue_id, target] += messages - go
    return +bounded


def outlook(
    operation: Operation, items: Sequence[Item], now: datetime | None
) -> Iterator[Look]:
    """The expected outcome of each item."""
    for batch in batches(operation, items, now):
        target = batch.target or batch.address
        for outcome in batch.states(batch.ids).values():
            yield outcome, batch.queue_id, target


def outlook_of_undo(
    operation: Operation, items: Sequence[Item], now: datetime | None
) -> Iterator[Look]:
    """The expected outcome of each item of an undo."""
    outcomes = item_state.obstacles(operation, items, now)
    left = [item for item in items if item.pk not in outcomes]
    if operation.kind in IN_PLACE:
        parts = item_state.left_in_place(operation, left)
    else:
        parts = item_state.copies_of(left)
        ended = [item for item in left if item.copy_id is None]
        outcomes |= outlook_of_ended(operation, ended, now)
    outcomes |= item_state.differences(parts, now)
    if operation.kind not in IN_PLACE:
        missing = [part for part in parts if outcomes[part.item.pk] is not Outcome.BUSY]
        outcomes |= item_state.differences(item_state.died_again(missing), now)
    for item in items:
        outcome = outcomes.get(item.pk, Outcome.GONE)
        is_as_left = outcome is Outcome.BUSY
        yield Outcome.WILL_GO if is_as_left else outcome, item.queue_id, ""


def leaves_any(operation: Operation, now: datetime | None = None) -> bool:
    """Whether an undo of an operation could take back at least one message now.

    It reads a bounded number of items; if there are more, the answer is yes.
    """
    items = operation.items.filter(status=OperationItem.Status.DONE)
    items = items.exclude(outcome__in=FINAL).order_by("pk")
    names = [one.name for one in fields(Item)]
    after = 0
    for _ in range(MOST_READ // CHUNK):
        some = items.filter(pk__gt=after).values_list(*names)[:CHUNK]
        found = [Item(*row) for row in some]
        looks = outlook_of_undo(operation, found, now)
        if any(outcome is Outcome.WILL_GO for outcome, *_ in looks):
            return True
        if len(found) < CHUNK:
            return False
        after = found[-1].pk
    return True


def outlook_of_ended(
    operation: Operation, items: Sequence[Item], now: datetime | None
) -> dict[int, Outcome]:
    """The expected outcome of items without a copy: they return from the discard bin.

    An expired item was never in the discard bin, and returns, too.
    """
    if operation.kind == Operation.Kind.EXPIRE:
        return {item.pk: Outcome.WILL_GO for item in items}
    ids = [item.message_id for item in items]
    kept = Discarded.objects.filter(
        message_id__in=ids, keep_until__gt=now or datetime.now(UTC)
    )
    there = set(kept.values_list("queue_id", "message_id"))
    return {
        item.pk: Outcome.WILL_GO
        if (item.queue_id, item.message_id) in there
        else Outcome.NOT_IN_BIN
        for item in items
    }
