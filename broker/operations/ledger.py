"""The ledger: the result of each item, written in the transaction that processed it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker import sql
from broker.operations.claim_items import Taken
from broker.operations.outcomes import Outcome


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

    before: Taken | None  # the entry before; None: the ledger already has it
    copy_id: int | None = None  # message id of the copy


def planned(operation_id: int, *, limit: int, after: int = 0) -> list[Item]:
    """The next items that are not processed yet, in their order."""
    return sql.fetch(
        "next_items", Item, operation_id=operation_id, after=after, limit=limit
    )


def named(ids: Sequence[int], *, limit: int) -> list[Item]:
    """Those of these items that are not processed yet, in their order."""
    return sql.fetch("named_items", Item, ids=list(ids), limit=limit)


def note(
    items: Iterable[Item], done: Mapping[int, Done], skipped: Mapping[int, Outcome]
) -> None:
    """Record the results of items.

    Args:
        items: all of them.
        done: results of the processed ones, by item.
        skipped: why the others were skipped, by item.
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
    """The values; only the first value if all are equal."""
    return values[:1] if len(set(values)) == 1 else values
