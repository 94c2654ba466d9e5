"""Undo an operation, item by item, by its ledger.

An item is undone only if its copy is unchanged: still on the queue it was put on, and
never delivered; or if the copy died again, and the new dead letter is unchanged.
Otherwise the item is skipped, and the ledger has the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from broker import sql
from broker.models import Kind, Operation, Place
from broker.operations import item_state
from broker.operations.batches import OF_DELAYED
from broker.operations.item_state import ItemEntry, Spot
from broker.operations.items import Done, Item, Taken, note, reinstate
from broker.operations.outcomes import Outcome
from broker.queueing.transfer import Record, end

IN_PLACE = (*OF_DELAYED, Operation.Kind.PRIORITY)


@dataclass
class UndoBatch:
    """A batch of items of an undo, and their results."""

    operation: Operation
    now: datetime | None
    done: dict[int, Done] = field(default_factory=dict)  # results by item id
    skipped: dict[int, Outcome] = field(default_factory=dict)

    def record(self, kind: Kind, place: Place | None) -> Record:
        detail = {"operation": self.operation.pk, "undoes": self.operation.undoes_id}
        actor = self.operation.created_by.get_username()
        return Record(kind, place, None, actor, detail, self.now)

    def skip(self, items: Iterable[Item], why: Outcome) -> None:
        self.skipped.update((item.pk, why) for item in items)


def take_back(
    operation: Operation, items: Sequence[Item], now: datetime | None
) -> None:
    """Undo each item whose entries are unchanged; record the results in the ledger."""
    batch = UndoBatch(operation, now)
    batch.skipped = item_state.obstacles(operation, items, now)
    possible = [item for item in items if item.pk not in batch.skipped]
    if operation.kind in IN_PLACE:
        change_back(batch, possible)
    else:
        back = end_copies(batch, [one for one in possible if one.copy_id is not None])
        back += take_from_bin(batch, [one for one in possible if one.copy_id is None])
        if operation.kind != Operation.Kind.COPY:
            entries = [item_state.as_it_was(item) for item in back]
            reinstate(entries, batch.record(Kind.REINSTATE, None))
    note(items, batch.done, batch.skipped)


def end_copies(batch: UndoBatch, items: Sequence[Item]) -> list[Item]:
    """Delete the copies of items, all copies of an item or none of them; return the
    items whose copies were deleted."""
    parts = item_state.copies_of(items)
    taken = take_untouched(batch, parts, delayed_too=True)
    left = [part for part in parts if part.item.pk in batch.skipped]
    if died := item_state.died_again(left):
        for part in died:
            batch.skipped.pop(part.item.pk, None)
        taken |= take_untouched(batch, died, delayed_too=True)
        parts += died
    by_place: dict[Place, list[Taken]] = defaultdict(list)
    for entry in taken.values():
        by_place[entry.place].append(entry)
    for place, entries in by_place.items():
        end(entries, batch.record(Kind.UNDO, place))
    ended = {part.item.pk for part in parts if part.spot in taken}
    back = [item for item in items if item.pk in ended]
    batch.done |= {item.pk: Done(None) for item in back}
    put = {part.item.pk for part in parts}
    batch.skip([item for item in items if item.pk not in put], Outcome.GONE)
    return back


def take_from_bin(batch: UndoBatch, items: Sequence[Item]) -> list[Item]:
    """Take removed and discarded entries out of the discard bin; return the items that
    can be reinstated. An expired entry was never in the bin, and can always be
    reinstated."""
    back = list(items)
    if items and batch.operation.kind != Operation.Kind.EXPIRE:
        named = {
            "queue_ids": [item.queue_id for item in items],
            "ids": [item.message_id for item in items],
        }
        taken = set(sql.run("take_discarded", named | {"now": batch.now}))
        back = [one for one in items if (one.queue_id, one.message_id) in taken]
        there = {one.pk for one in back}
        gone = [one for one in items if one.pk not in there]
        batch.skip(gone, Outcome.NOT_IN_BIN)
    batch.done |= {item.pk: Done(None) for item in back}
    return back


def change_back(batch: UndoBatch, items: Sequence[Item]) -> None:
    """Restore the former priority or the delay of entries."""
    delays = batch.operation.kind in OF_DELAYED
    parts = item_state.left_in_place(batch.operation, items)
    was_made_ready = batch.operation.kind == Operation.Kind.DELIVER
    taken = take_untouched(batch, parts, delayed_too=not was_made_ready)
    by_place: dict[Place, list[Taken]] = defaultdict(list)
    for item in items:
        entry = taken.get((item.queue_id, item.message_id))
        if entry is None:
            continue
        due_at = item.due_at if delays else entry.due_at
        before = replace(entry, priority=item.priority or 0, due_at=due_at)
        by_place[entry.place].append(before)
        batch.done[item.pk] = Done(before)
    kind = Kind.REINSTATE if delays else Kind.REPRIORITIZE
    for place, entries in by_place.items():
        reinstate(entries, batch.record(kind, place))


def take_untouched(
    batch: UndoBatch, parts: Sequence[ItemEntry], *, delayed_too: bool
) -> dict[Spot, Taken]:
    """Take entries that are unchanged, all entries of an item or none of them; record
    the reason for the items that are skipped."""
    if not parts:
        return {}
    rows = sql.fetch(
        "take_untouched",
        Taken,
        item_ids=[part.item.pk for part in parts],
        queue_ids=[part.queue_id for part in parts],
        ids=[part.message_id for part in parts],
        priorities=[part.priority for part in parts],
        delivery_counts=[part.delivery_count for part in parts],
        delayed_too=delayed_too,
        now=batch.now,
    )
    taken = {(entry.queue_id, entry.id): entry for entry in rows}
    missing = [part for part in parts if part.spot not in taken]
    batch.skipped |= item_state.differences(missing, batch.now)
    return taken
