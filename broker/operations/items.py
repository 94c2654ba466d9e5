"""Items of an operation: take their entries from queues, and record their results.

The items are also the ledger: the result of each is written in the transaction that
processed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker import sql
from broker.models import Place
from broker.operations.outcomes import Outcome
from broker.queueing import notifications, transfer
from broker.queueing.transfer import Record, TakenEntry


@dataclass(slots=True)
class Taken(TakenEntry):
    """An entry in the state in which it was taken."""

    due_at: datetime | None = None  # None: the entry was ready

    @property
    def place(self) -> Place:
        return Place.READY if self.due_at is None else Place.DELAYED


@dataclass(slots=True)
class Found:
    """An entry in its present state."""

    id: int  # id of the entry's message
    place: int
    priority: int
    backout_count: int
    delivery_count: int
    expires_at: datetime | None
    expired: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """Access to the entries of one queue at one moment."""

    queue_id: int
    now: datetime | None
    expired_too: bool = False

    def ready(self, ids: Sequence[int]) -> list[Taken]:
        return self.take("take_ready", ids)

    def delayed(self, ids: Sequence[int]) -> list[Taken]:
        return self.take("take_delayed", ids)

    def take(self, statement: str, ids: Sequence[int]) -> list[Taken]:
        return sql.fetch(
            statement,
            Taken,
            queue_id=self.queue_id,
            ids=list(ids),
            expired_too=self.expired_too,
            now=self.now,
        )

    def find(self, ids: Sequence[int]) -> list[Found]:
        """The entries with these ids that are on the queue now."""
        return sql.fetch(
            "find_entries",
            Found,
            queue_id=self.queue_id,
            ids=list(ids),
            now=self.now,
        )


def reinstate(entries: Sequence[Taken], record: Record) -> None:
    """Put entries back on their queues: ready entries at the head, others delayed."""
    if not entries:
        return
    parameters = record.parameters()
    del parameters["uow"]
    ready = sql.fetch(
        "reinstate",
        int,
        **transfer.columns(entries),
        delivery_counts=[entry.delivery_count for entry in entries],
        expiries=[entry.expires_at for entry in entries],
        dues=[entry.due_at for entry in entries],
        **parameters,
    )
    notifications.announce_on_commit(set(ready))


@dataclass(slots=True)  # not frozen: creating a frozen object takes five times as long
class Item:
    """An item that is not processed yet."""

    pk: int
    queue_id: int
    message_id: int
    target: str  # name of the planned target queue

    # Only for an undo: the copy to remove, and the state of the entry before the
    # operation.
    copy_id: int | None
    priority: int | None
    backout_count: int | None
    delivery_count: int | None
    due_at: datetime | None
    expires_at: datetime | None


@dataclass(slots=True)
class Done:
    """The result of one processed entry."""

    # The entry before the operation; None: the ledger already has its state.
    before: Taken | None
    copy_id: int | None = None  # message id of the copy


def planned(operation_id: int, *, limit: int, after: int = 0) -> list[Item]:
    """The next items that are not processed yet, in their order."""
    return sql.fetch(
        "next_items", Item, operation_id=operation_id, after=after, limit=limit
    )


def named(ids: Sequence[int], *, limit: int) -> list[Item]:
    """The items with these ids that are not processed yet, in their order."""
    return sql.fetch("named_items", Item, ids=list(ids), limit=limit)


def note(
    items: Iterable[Item], done: Mapping[int, Done], skipped: Mapping[int, Outcome]
) -> None:
    """Record the results of items.

    Args:
        items: the items.
        done: results of the processed items, by item id.
        skipped: reasons for the skipped items, by item id.
    """
    left = [item.pk for item in items if item.pk not in done]
    if done:
        sql.fetch_one("note_items", **columns(done))
    if left:
        notes = [skipped[one].sentence for one in left]
        sql.fetch_one("note_skipped", ids=left, notes=notes)


def columns(done: Mapping[int, Done]) -> dict[str, Any]:
    """The parameters of note_items.sql: an array of each field."""
    became = done.values()
    befores = [one.before for one in became if one.before is not None]
    assert len(befores) in (0, len(done))
    return {
        "ids": list(done),
        "copies": column([one.copy_id for one in became]),
        "places": agreed([was.place for was in befores]),
        "priorities": agreed([was.priority for was in befores]),
        "backout_counts": agreed([was.backout_count for was in befores]),
        "delivery_counts": agreed([was.delivery_count for was in befores]),
        "dues": column([was.due_at for was in befores]),
        "expiries": column([was.expires_at for was in befores]),
    }


def column(values: Sequence[Any]) -> Sequence[Any] | None:
    """The values of a field; None if no item has a value."""
    return None if values.count(None) == len(values) else values


def agreed(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a field; if all are equal, only the first value."""
    return values[:1] if len(set(values)) == 1 else values
