"""Operations: what was ordered for many messages, and what became of each."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.models import Operation
from console import ledgers, rights
from console.api.problems import REFUSED, require

router = Router(tags=["operations"])


class OperationState(Schema):
    """An operation, and how far it has come."""

    id: int
    kind: str
    state: str
    scope: str  # the set, in words
    argument: str  # the queue of a move or a copy, or the new priority
    reason: str
    undoes: int | None  # the operation that it takes back
    created_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    planned: int  # items that are still to be worked on
    done: int
    skipped: int


class Item(Schema):
    """One entry of the frozen set, and what became of it."""

    id: int
    queue: str  # empty once it is gone
    message_id: int
    target: str
    status: str
    note: str  # why it was skipped
    copy_id: int | None  # the message it became


class Items(Schema):
    """A page of items; the next begins after ``next``."""

    items: list[Item]
    next: int | None


class Page(Schema):
    """Which items, and how many at most."""

    status: Literal["planned", "done", "skipped"] | None = None
    after: int = Field(default=0, ge=0, lt=2**63)
    limit: int = Field(default=50, ge=1, le=500)


@router.get(
    "/operations/{int:operation_id}",
    response={200: OperationState, **REFUSED},
    summary="An operation",
)
def read_operation(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """What was ordered, by whom, and how far it has come."""
    found, ledger = seen(request, operation_id)
    fields = ("id", "kind", "state", "scope", "argument", "reason", "created_at")
    return {
        **{name: getattr(found, name) for name in fields},
        "undoes": found.undoes_id,
        "created_by": found.created_by.get_username(),
        "started_at": found.started_at,
        "ended_at": found.ended_at,
        "planned": ledger.planned,
        "done": ledger.done,
        "skipped": ledger.skipped,
    }


@router.get(
    "/operations/{int:operation_id}/items",
    response={200: Items, **REFUSED},
    summary="The items of an operation",
)
def read_items(
    request: HttpRequest, operation_id: Path[int], page: Query[Page]
) -> dict[str, Any]:
    """In the order in which they are worked on."""
    found, ledger = seen(request, operation_id)
    items = found.items.filter(pk__gt=page.after).order_by("pk")
    if page.status:
        items = items.filter(status=page.status)
    rows = list(items[: page.limit + 1])
    part = rows[: page.limit]
    return {
        "items": [
            {
                "id": one.pk,
                "queue": ledger.names.get(one.queue_id, ""),
                "message_id": one.message_id,
                "target": one.target,
                "status": one.status,
                "note": one.note,
                "copy_id": one.copy_id,
            }
            for one in part
        ],
        "next": part[-1].pk if len(rows) > page.limit else None,
    }


def seen(request: HttpRequest, operation_id: int) -> tuple[Operation, ledgers.Ledger]:
    """An operation that this person may see, as the pages have it."""
    require(request, "broker.view_queue")
    known = Operation.objects.select_related("created_by")
    found = known.filter(pk=operation_id).first() if operation_id < 2**63 else None
    if found is None:
        raise Http404(f"operation {operation_id}")
    ledger = ledgers.ledger_of(found)
    rights.require_sight(request.user, ledger)
    return found, ledger
