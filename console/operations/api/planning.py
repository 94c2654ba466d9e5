"""Operations: plan on a frozen set of messages, start, cancel, undo.

As on the pages, a plan changes nothing. It gives the number of messages, the queues
they are on and the target. It is then started or cancelled.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from broker.acts.operations.ledgers import counts_of
from broker.acts.operations.planning import plan_operation
from broker.acts.operations.rights import visible_operations
from broker.acts.operations.states import ABOUT, OperationState, brief_state
from broker.monitoring.dead_letters import NEWEST
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require

router = Router(tags=["operations"])

VIEW = "broker.view_queue"


class OperationsPage(Schema):
    """Where the page begins (an operation's number, descending), and its size."""

    before: int = Field(default=NEWEST, ge=1, le=NEWEST)
    limit: int = Field(default=50, ge=1, le=200)


class Operations(Schema):
    """A page of operations, the newest first; the next page is before ``next``."""

    operations: list[OperationState]
    next: int | None


@router.get(
    "/operations", response={200: Operations, **REFUSED}, summary="The operations"
)
def list_operations(
    request: HttpRequest, page: Query[OperationsPage]
) -> dict[str, Any]:
    """Operations on queues that the caller may inquire."""
    require(request, VIEW)
    every = visible_operations(request.user).select_related(*ABOUT)
    rows = list(every.filter(pk__lt=page.before).order_by("-pk")[: page.limit + 1])
    part = rows[: page.limit]
    counts = counts_of([one.pk for one in part])
    return {
        "operations": [brief_state(one, counts[one.pk]) for one in part],
        "next": part[-1].pk if len(rows) > page.limit else None,
    }


serve(router, "POST", "/operations", plan_operation)
