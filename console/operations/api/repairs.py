"""Repairs: patches that a plan applies to the messages it resubmits.

A patch is the JSON described in ``docs/repair.md``. Numbers keep all their digits.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest
from ninja import Path, Router
from ninja.errors import ValidationError
from pydantic import Field

from broker import operations
from broker.acts.operations import rights
from broker.acts.operations.patches import (
    PatchPreview,
    ResubmitPlan,
    drop_patch,
    give_patch,
    preview_patch,
    read_plan,
    set_patch,
)
from broker.acts.operations.plans import BROWSE
from broker.acts.operations.rights import require_reading
from broker.formats import lossless_json
from broker.models import Operation
from broker.monitoring import visible_search
from broker.monitoring.dead_letters import NEWEST, Selection
from broker.operations import Chosen, Order, Sought
from console.edges import permissions
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.edges.rest.requests import RequestBody, read_json
from console.messages.dead_letter_query import names_for, visible_part
from console.operations.api.operations import visible_operation

router = Router(tags=["repairs"])

MOST_IDS = 1000
PATCH = "/operations/{int:operation_id}/patch"


class Resubmit(RequestBody):
    """The messages to resubmit, and the patch. Either ``ids`` or ``f``."""

    # each a message's number or the id of a copy
    ids: list[int] = Field(default=[], max_length=MOST_IDS)
    # filters, as for searching messages
    f: list[str] = Field(default=[], max_length=32)
    reason: str = Field(default="", max_length=500)
    patch: dict[str, Any] | None = None
    # also the other queues of the address, where a queue is named as its address
    every_queue: bool = False


@router.post(
    "/resubmits",
    response={200: ResubmitPlan, **REFUSED},
    summary="Plan to resubmit dead letters, with a patch or without",
)
def plan_resubmit(request: HttpRequest, body: Resubmit) -> ResubmitPlan:
    """Freezes the set and previews the patch on each message. Nothing is sent before
    the plan is started.
    """
    require(request, permissions.CHANGE)
    if bool(body.ids) == bool(body.f):
        why = "give either ids or f"
        raise ValidationError([{"loc": ("body", "body", "ids"), "msg": why}])
    which, scope = chosen(request, body)
    only = operations.EVERY_QUEUE if body.every_queue else ""
    order = Order(Operation.Kind.RESUBMIT, only)
    with transaction.atomic():
        plan = rights.plan(request.user, order, which, scope=scope, reason=body.reason)
        if body.patch is not None:
            patch = lossless_json.dumps(read_json(request)["patch"])
            give_patch(request.user, plan, patch)
    return read_plan(request.user, plan)


@router.get(
    PATCH,
    response={200: PatchPreview, **REFUSED},
    summary="What the patch of a plan would change",
)
def read_preview(request: HttpRequest, operation_id: Path[int]) -> PatchPreview:
    """The preview. Values are shown to callers who may read the messages."""
    plan, _ = visible_operation(request, operation_id)
    require(request, BROWSE)
    require_reading(request.user, plan)
    preview = preview_patch(request.user, plan)
    if preview is None:
        raise Http404(f"patch of operation {operation_id}")
    return preview


def chosen(request: HttpRequest, body: Resubmit) -> tuple[Chosen | Sought, str]:
    """The chosen dead letters that the caller may see, and a description of the set."""
    if body.f:
        search = visible_search.search(request.user, ["state:dead", *body.f])
        return Sought(search.filter, search.within), str(search.filter)
    names = names_for(request.user)
    letters = visible_part(Selection(), names)
    ids = tuple(one for one in body.ids if 0 < one <= NEWEST)
    ids = operations.present(ids, names)
    return Chosen(letters=letters, ids=ids), f"{len(ids)} dead letters by their ids"


serve(router, "PUT", PATCH, set_patch, operation_id="operation")
serve(router, "DELETE", PATCH, drop_patch, operation_id="operation")
