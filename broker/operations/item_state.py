"""The state of the entries that an operation left: whether each is unchanged since
then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker import sql
from broker.models import DeadLetter, Kind, Operation, Place, Queue
from broker.operations.items import Found, Item, Reach, Taken
from broker.operations.outcomes import Outcome
from broker.sql import database_now

Spot = tuple[int, int]  # queue id and message id

# An item with entries on several queues has the outcome that is last in this list.
WEIGHTS = [
    Outcome.BUSY,
    Outcome.GONE,
    Outcome.EXPIRED,
    Outcome.MOVED_ON,
    Outcome.CHANGED,
    Outcome.DELIVERED,
    Outcome.HELD,
    Outcome.PROCESSED,
]
ENDS = {Kind.ACCEPT: Outcome.PROCESSED, Kind.EXPIRE: Outcome.EXPIRED}
# A copy with one of these causes did not die of an error.
NO_DEATHS = (DeadLetter.Cause.OPERATOR, DeadLetter.Cause.EXPIRED)


@dataclass(slots=True)
class ItemEntry:
    """An entry as the operation left it: the item's own entry, or a copy."""

    item: Item
    queue_id: int
    message_id: int
    priority: int
    delivery_count: int

    @property
    def spot(self) -> Spot:
        return self.queue_id, self.message_id


def copies_of(items: Iterable[Item]) -> list[ItemEntry]:
    """The entries that copies of items had on all queues before any delivery."""
    by_copy = {item.copy_id: item for item in items if item.copy_id is not None}
    return [
        ItemEntry(
            by_copy[copy_id], queue_id, copy_id, by_copy[copy_id].priority or 0, 0
        )
        for copy_id, queue_id in journalled("puts_of", by_copy)
    ]


def died_again(parts: Iterable[ItemEntry]) -> list[ItemEntry]:
    """The entries of items of which at least one copy is a dead letter again, with that
    dead letter instead of the copy."""
    parts = list(parts)
    ended = journalled("ends_of", {part.message_id for part in parts})
    became = {
        (queue_id, message_id): copy_id
        for queue_id, message_id, kind, copy_id, _ in ended
        if kind == Kind.DEAD_LETTER and copy_id is not None
    }
    letters: dict[int, list[int]] = defaultdict(list)
    rows = DeadLetter.objects.filter(message_id__in=sorted(became.values()))
    rows = rows.exclude(cause__in=NO_DEATHS)
    for message_id, queue_id in rows.values_list("message_id", "queue_id"):
        letters[message_id].append(queue_id)
    died = {spot: one for spot, one in became.items() if one in letters}
    items = {part.item.pk for part in parts if part.spot in died}
    return [
        ItemEntry(part.item, queue_id, message_id, part.priority, 0)
        for part in parts
        if part.item.pk in items
        for message_id in [died.get(part.spot, part.message_id)]
        for queue_id in letters.get(message_id, [part.queue_id])
    ]


def left_in_place(operation: Operation, items: Iterable[Item]) -> list[ItemEntry]:
    """The entries of items that stayed on their queue, with another priority, another
    due time, or without their delay."""
    given = operation.argument if operation.kind == Operation.Kind.PRIORITY else None
    return [
        ItemEntry(
            item,
            item.queue_id,
            item.message_id,
            int(given or item.priority or 0),
            item.delivery_count or 0,
        )
        for item in items
    ]


def as_it_was(item: Item) -> Taken:
    """The entry of an item before the operation."""
    return Taken(
        item.queue_id,
        item.message_id,
        item.priority or 0,
        item.backout_count or 0,
        item.delivery_count or 0,
        item.expires_at,
        due_at=item.due_at,
    )


def obstacles(
    operation: Operation, items: Iterable[Item], now: datetime | None
) -> dict[int, Outcome]:
    """Reasons why items cannot be undone, whatever the state of their copies; by item
    id."""
    items, now = list(items), now or database_now()
    if operation.kind in (Operation.Kind.DELIVER, Operation.Kind.RESCHEDULE):
        due = [item for item in items if not (item.due_at and item.due_at > now)]
        return dict.fromkeys((item.pk for item in due), Outcome.DUE)
    if operation.kind in (Operation.Kind.PRIORITY, Operation.Kind.COPY):
        return {}
    stored = set(sql.fetch("stored", int, ids=[item.message_id for item in items]))
    there = Queue.objects.filter(pk__in={item.queue_id for item in items})
    queues = set(there.values_list("pk", flat=True))
    found: dict[int, Outcome] = {}
    for item in items:
        if item.queue_id not in queues:
            found[item.pk] = Outcome.NO_WAY_BACK
        elif item.message_id not in stored:
            found[item.pk] = Outcome.NOT_STORED
        elif item.expires_at is not None and item.expires_at <= now:
            found[item.pk] = Outcome.EXPIRED
    return found


def differences(parts: Sequence[ItemEntry], now: datetime | None) -> dict[int, Outcome]:
    """How entries differ from the state that the operation left, by item; BUSY if they
    are unchanged but cannot be taken."""
    by_queue: dict[int, list[int]] = defaultdict(list)
    for part in parts:
        by_queue[part.queue_id].append(part.message_id)
    by_spot = {part.spot: part for part in parts}
    why = {
        (queue_id, found.id): difference(by_spot[queue_id, found.id], found)
        for queue_id, ids in by_queue.items()
        for found in Reach(queue_id, now).find(ids)
    }
    ended = [part.message_id for part in parts if part.spot not in why]
    for queue_id, message_id, kind, *_ in journalled("ends_of", ended):
        why.setdefault((queue_id, message_id), ENDS.get(kind, Outcome.MOVED_ON))
    worst: dict[int, Outcome] = {}
    for part in parts:
        one = why.get(part.spot, Outcome.GONE)
        known = worst.get(part.item.pk, one)
        worst[part.item.pk] = max(known, one, key=WEIGHTS.index)
    return worst


def difference(part: ItemEntry, found: Found) -> Outcome:
    """How an entry on a queue differs from what the operation left."""
    if found.place == Place.CLAIMED:
        return Outcome.HELD
    if found.expired:
        return Outcome.EXPIRED
    if found.delivery_count != part.delivery_count:
        return Outcome.DELIVERED
    return Outcome.CHANGED if found.priority != part.priority else Outcome.BUSY


def journalled(statement: str, ids: Iterable[int | None]) -> list[tuple[Any, ...]]:
    """Run a statement over the journal events of messages."""
    named = sorted(one for one in ids if one is not None)
    if not named:
        return []
    bounds = {"ids": named, "first_id": named[0], "last_id": named[-1]}
    return sql.run(statement, bounds)
