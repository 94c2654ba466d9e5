"""Repairs: patches that a plan applies to the messages it resubmits.

A patch is the JSON described in ``docs/repair.md``. Numbers keep all their digits.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker import operations
from broker.acts.operations import rights
from broker.acts.operations.ledgers import ledger_of
from broker.acts.operations.plans import require_repair
from broker.acts.operations.rights import require_reading
from broker.acts.operations.siblings import Sibling, siblings_in
from broker.formats.patches import written
from broker.formats.patches.documents import read_patch
from broker.models import Operation, OperationPatch
from broker.monitoring.dead_letters import NEWEST, Selection
from broker.operations import Chosen, Order, Outcome, Sought
from broker.security import redaction
from broker.security.authorities import Principal
from console.edges import permissions
from console.edges.rest.problems import REFUSED, require
from console.edges.rest.requests import RequestBody, read_json
from console.messages import search_form
from console.messages.dead_letter_query import names_for, visible_part
from console.messages.search_form import BROWSE
from console.operations import patch_changes
from console.operations.api.operations import visible_operation
from console.operations.patch_form import masked_preview

router = Router(tags=["repairs"])

MOST_IDS = 1000
CODES = {one.sentence: one.value for one in Outcome}
ANY_PATCH = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


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


class Left(Schema):
    """Messages that are not sent, and the reason."""

    code: str  # stable, and safe to match on
    why: str
    messages: int


class ValueChange(Schema):
    """A value that the patch changes."""

    where: str  # a header, or a path in the body
    before: str | None  # the value before, as JSON; null: the value did not exist
    after: str | None


class Alike(Schema):
    """Messages that change in the same way, with one example."""

    kinds: list[str]
    messages: int
    example: int
    changes: list[ValueChange]


class PatchPreview(Schema):
    """The effect of a patch on the frozen set of a plan."""

    operation_id: int
    is_complete: bool  # false: the preview is not complete yet
    looked_at: int
    total: int
    fits: int  # messages looked at and not skipped: to be sent, or sent already
    left: list[Left]
    alike: list[Alike]  # at most 20 groups, each with different ``kinds`` of change


class Planned(Schema):
    """A plan to resubmit; nothing has been sent yet."""

    operation_id: int
    messages: int
    preview: PatchPreview | None  # null: the plan has no patch
    # other queues that get copies; empty: only the queues that the messages were on
    siblings: list[Sibling]


@router.post(
    "/resubmits",
    response={200: Planned, **REFUSED},
    summary="Plan to resubmit dead letters, with a patch or without",
)
def plan_resubmit(request: HttpRequest, body: Resubmit) -> dict[str, Any]:
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
            give(request, plan, read_json(request)["patch"])
    return planned(request.user, plan)


@router.put(
    "/operations/{int:operation_id}/patch",
    response={200: PatchPreview, **REFUSED},
    summary="Give a plan a patch",
    openapi_extra=ANY_PATCH,
)
def set_patch(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """Replaces the plan's patch. The worker previews a large set: repeat the read until
    it is complete.
    """
    plan, _ = visible_operation(request, operation_id)
    require(request, permissions.CHANGE)
    with transaction.atomic():
        give(request, plan, read_json(request))
    return preview_of(request.user, plan) or {}


@router.get(
    "/operations/{int:operation_id}/patch",
    response={200: PatchPreview, **REFUSED},
    summary="What the patch of a plan would change",
)
def read_preview(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """The preview. Values are shown to callers who may read the messages."""
    plan, _ = visible_operation(request, operation_id)
    require(request, BROWSE)
    require_reading(request.user, plan)
    preview = preview_of(request.user, plan)
    if preview is None:
        raise Http404(f"patch of operation {operation_id}")
    return preview


@router.delete(
    "/operations/{int:operation_id}/patch",
    response={200: Planned, **REFUSED},
    summary="Remove the patch of a plan",
)
def drop_patch(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """Removes the patch; the plan again contains all its messages unchanged."""
    plan, _ = visible_operation(request, operation_id)
    require(request, permissions.CHANGE)
    with transaction.atomic():
        require_repair(request.user, plan)
        operations.drop_patch(plan.pk)
    return planned(request.user, plan)


def give(request: HttpRequest, plan: Operation, patch: Any) -> None:
    require(request, BROWSE)
    require_repair(request.user, plan)
    patch_changes.give(request.user, plan, written(read_patch(patch)))


def chosen(request: HttpRequest, body: Resubmit) -> tuple[Chosen | Sought, str]:
    """The chosen dead letters that the caller may see, and a description of the set."""
    if body.f:
        search = search_form.search(request.user, ["state:dead", *body.f])
        return Sought(search.filter, search.within), str(search.filter)
    names = names_for(request.user)
    letters = visible_part(Selection(), names)
    ids = tuple(one for one in body.ids if 0 < one <= NEWEST)
    ids = operations.present(ids, names)
    return Chosen(letters=letters, ids=ids), f"{len(ids)} dead letters by their ids"


def planned(user: Principal, plan: Operation) -> dict[str, Any]:
    ledger = ledger_of(plan)
    return {
        "operation_id": plan.pk,
        "messages": ledger.total,
        "preview": preview_of(user, plan),
        "siblings": list(map(asdict, siblings_in(plan, ledger, user))),
    }


def preview_of(user: Principal, plan: Operation) -> dict[str, Any] | None:
    found = OperationPatch.objects.filter(pk=plan.pk).first()
    if found is None:
        return None
    ledger = ledger_of(plan)
    not_looked = 0 if found.is_looked else ledger.total - found.looked
    return {
        "operation_id": plan.pk,
        "is_complete": found.is_looked,
        "looked_at": found.looked,
        "total": ledger.total,
        "fits": ledger.planned + ledger.done - not_looked,
        "left": [
            {"code": CODES.get(why, "skipped"), "why": why, "messages": count}
            for why, count in ledger.why_skipped
        ],
        "alike": [
            one
            | {
                "changes": [
                    {"where": where, "before": before, "after": after}
                    for where, before, after in one["changes"]
                ]
            }
            for one in masked_preview(found, redaction.sight_of(user))
        ],
    }
