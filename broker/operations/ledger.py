"""The ledger: what became of each item, written in the transaction that did it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from broker import sql
from broker.models import OperationItem
from broker.operations.outcomes import Outcome
from broker.operations.taking import Taken

Status = OperationItem.Status


@dataclass(frozen=True, slots=True)
class Done:
    """What was done to one entry."""

    before: Taken
    copy_id: int | None = None  # the message that it became, or was copied to


def planned(operation_id: int, *, limit: int, after: int = 0) -> list[OperationItem]:
    """The next items that nothing was done about, in their order."""
    ids = sql.fetch(
        "next_items", int, operation_id=operation_id, after=after, limit=limit
    )
    if not ids:
        return []
    items = OperationItem.objects.filter(
        operation=operation_id, status=Status.PLANNED, pk__range=(ids[0], ids[-1])
    )
    return list(items.order_by("pk"))


def note(
    items: Iterable[OperationItem],
    done: Mapping[int, Done],
    skipped: Mapping[int, Outcome],
) -> None:
    """Write what became of items.

    Args:
        items: all of them.
        done: by item, what was done.
        skipped: by item, why nothing was.
    """
    rows = [row(item, done.get(item.pk), skipped) for item in items]
    if not rows:
        return
    names = (
        *("ids", "statuses", "notes", "copies", "places", "priorities"),
        *("backout_counts", "delivery_counts", "dues", "expiries"),
    )
    columns = map(list, zip(*rows, strict=True))
    sql.fetch_one("note_items", **dict(zip(names, columns, strict=True)))


def row(
    item: OperationItem, done: Done | None, skipped: Mapping[int, Outcome]
) -> tuple[object, ...]:
    if done is None:
        why = skipped[item.pk].sentence
        return (item.pk, Status.SKIPPED.value, why, *[None] * 7)
    was = done.before
    return (
        item.pk,
        Status.DONE.value,
        "",
        done.copy_id,
        was.place,
        was.priority,
        was.backout_count,
        was.delivery_count,
        was.due_at,
        was.expires_at,
    )
