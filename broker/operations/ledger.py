"""The ledger: what became of each item, written in the transaction that did it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker import sql
from broker.operations.claim_items import Taken
from broker.operations.outcomes import Outcome


@dataclass(slots=True)  # not frozen, which takes five times as long to make
class Item:
    """An item that nothing was done about yet."""

    pk: int
    queue_id: int
    message_id: int
    target: str  # the queue it goes to, as planned

    # Of an undo: what its message became, and the entry as it was before.
    copy_id: int | None
    priority: int | None
    backout_count: int | None
    delivery_count: int | None
    due_at: datetime | None
    expires_at: datetime | None


@dataclass(slots=True)
class Done:
    """What was done to one entry."""

    before: Taken | None  # none: as the ledger has it already
    copy_id: int | None = None  # the message that it became, or was copied to


def planned(operation_id: int, *, limit: int, after: int = 0) -> list[Item]:
    """The next items that nothing was done about, in their order."""
    return sql.fetch(
        "next_items", Item, operation_id=operation_id, after=after, limit=limit
    )


def named(ids: Sequence[int], *, limit: int) -> list[Item]:
    """Of these items, the next that nothing was done about."""
    return sql.fetch("named_items", Item, ids=list(ids), limit=limit)


def note(
    items: Iterable[Item], done: Mapping[int, Done], skipped: Mapping[int, Outcome]
) -> None:
    """Write what became of items.

    Args:
        items: all of them.
        done: by item, what was done.
        skipped: by item, why nothing was.
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
    """None where no item has a value."""
    return None if values.count(None) == len(values) else values


def agreed(values: Sequence[Any]) -> Sequence[Any]:
    """Cut to the first where all items have the same."""
    return values[:1] if len(set(values)) == 1 else values
