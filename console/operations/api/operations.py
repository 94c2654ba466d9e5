"""Operations on many messages: status, items and approval."""

from __future__ import annotations

from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.acts.operations.ledgers import Ledger, ledger_of
from broker.acts.operations.rights import require_sight
from broker.acts.operations.states import ABOUT, OperationState, state_of
from broker.models import Operation, OperationItem
from console.edges.numbers import numbered
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import REFUSED, require
from console.operations import results

router = Router(tags=["operations"])
Fate = OperationItem.Fate


class Item(Numbered):
    """One entry of the frozen set and its result."""

    id: int
    queue: str  # empty after the queue is deleted
    target: str
    status: str
    note: str  # why the item was skipped
    copy_id: int | None  # the id of the copy that the operation put
    fate: str  # the outcome of the copy; empty: not known yet


class Items(Schema):
    """A page of items; the next page begins after ``next``."""

    items: list[Item]
    next: int | None


class ItemQuery(Schema):
    """Which items, and the size of the page."""

    status: Literal["planned", "done", "skipped", "left_out"] | None = None
    after: int = Field(default=0, ge=0, lt=2**63)
    limit: int = Field(default=50, ge=1, le=500)


@router.get(
    "/operations/{int:operation_id}",
    response={200: OperationState, **REFUSED},
    summary="An operation",
)
def read_operation(request: HttpRequest, operation_id: Path[int]) -> OperationState:
    """An operation: kind, person, and progress."""
    return state_of(request.user, *visible_operation(request, operation_id))


@router.get(
    "/operations/{int:operation_id}/items",
    response={200: Items, **REFUSED},
    summary="The items of an operation",
)
def read_items(
    request: HttpRequest, operation_id: Path[int], page: Query[ItemQuery]
) -> dict[str, Any]:
    """Items in the order of processing."""
    found, ledger = visible_operation(request, operation_id)
    rows = results.items_after(found, page.status, page.after, page.limit + 1)
    part = rows[: page.limit]
    return {
        "items": numbered([item_document(one, ledger) for one in part]),
        "next": part[-1].pk if len(rows) > page.limit else None,
    }


def item_document(one: OperationItem, ledger: Ledger) -> dict[str, Any]:
    """An item as JSON, without the number of its message."""
    plain = ("message_id", "target", "status", "note", "copy_id")
    return {
        **{name: getattr(one, name) for name in plain},
        "id": one.pk,
        "queue": ledger.names.get(one.queue_id, ""),
        "fate": "" if one.fate is None else Fate(one.fate).name.lower(),
    }


def visible_operation(
    request: HttpRequest, operation_id: int
) -> tuple[Operation, Ledger]:
    """An operation that the caller may see, as for the pages."""
    require(request, "broker.view_queue")
    known = Operation.objects.select_related(*ABOUT)
    found = known.filter(pk=operation_id).first() if operation_id < 2**63 else None
    if found is None:
        raise Http404(f"operation {operation_id}")
    ledger = ledger_of(found)
    require_sight(request.user, ledger)
    return found, ledger
