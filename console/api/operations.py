"""Operations on many messages: status, items and approval."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.models import Approval, Course, Operation, OperationItem
from broker.operations import copy_outcomes
from console.api.bodies import Numbered
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody
from console.messages.documents import numbered
from console.operations import approvals, results
from console.operations import course as courses
from console.operations.permissions import require_sight
from console.operations.siblings import siblings_in

router = Router(tags=["operations"])
ABOUT = ("created_by", "course", "approval__approved_by")  # what is read with each
Fate = OperationItem.Fate


class Stop(Schema):
    """Why an operation stopped itself."""

    why: str  # the reason: again, new, expired or untaken
    messages: int  # messages that made the operation stop
    tried: int  # messages that were watched
    fingerprint: str  # fingerprint of their error, if dead-lettered
    pattern: str  # the error, for people


class CourseState(Schema):
    """The course of an operation: stage, rate limit, trial."""

    stage: str  # trial, watch, halted, rest
    pace: int | None  # messages a second; null: no limit
    canary: int  # messages of the trial; 0: no trial
    paused_at: datetime | None
    stop: Stop | None


class Fates(Schema):
    """Outcomes of the messages that were sent, as far as known."""

    processed: int
    dead: int  # messages that became dead letters again
    expired: int
    taken: int  # messages removed by other operations
    unknown: int
    open: int


class ApprovalState(Schema):
    """The approval that a plan needs."""

    seal: str  # digest of exactly this plan
    expires_at: datetime  # after this time the plan can be neither approved nor started
    approved_by: str | None
    approved_at: datetime | None


class Consent(RequestBody):
    """The seal of the plan, and the reason."""

    seal: str = Field(max_length=64, pattern=NO_NUL)
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class Sibling(Schema):
    """Another queue of an address that a resubmit reaches: one of its messages was on
    the queue that is named as the address."""

    of: str  # the queue that is named as its address
    queue: str  # the other queue; empty: the caller may not inquire it
    messages: int  # at most so many copies
    is_anycast: bool  # one of the anycast queues of the address gets each message


class OperationState(Schema):
    """An operation and its progress."""

    id: int
    kind: str
    state: str
    scope: str  # the set, in words
    argument: str  # the queue of a move or a copy, or the new priority
    reason: str
    undoes: int | None  # the operation that it undoes
    created_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    planned: int  # items that are still to be worked on
    done: int
    skipped: int
    approval: ApprovalState | None  # null: no approval needed
    left_out: int  # messages left out of the plan
    # sentences with the reasons; null in lists
    left_out_because: str | None
    course: CourseState
    # null in lists, and for operations whose messages are not followed
    fates: Fates | None
    # null in lists; empty: the messages reach only the queues that they were on
    siblings: list[Sibling] | None


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
def read_operation(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """An operation: kind, person, and progress."""
    return shown_of(request, *seen(request, operation_id))


@router.post(
    "/operations/{int:operation_id}/approve",
    response={200: OperationState, **REFUSED},
    summary="Approve an operation that somebody else planned",
)
def approve_operation(
    request: HttpRequest, operation_id: Path[int], body: Consent
) -> dict[str, Any]:
    """Approves exactly the plan with this seal, so that it can be started. The person
    who planned it cannot approve it. Needs the authorities of the operation itself.
    """
    require(request, approvals.MAY)
    found, _ = seen(request, operation_id)
    approvals.agree(request.user, found, body.seal, body.reason)
    return state_of(request, found.pk)


def state_of(request: HttpRequest, operation_id: int) -> dict[str, Any]:
    """The present state of an operation."""
    found = Operation.objects.select_related(*ABOUT).get(pk=operation_id)
    return shown_of(request, found, results.ledger_of(found))


def shown_of(
    request: HttpRequest, found: Operation, ledger: results.Ledger
) -> dict[str, Any]:
    """The state of an operation that was read with ``ABOUT``."""
    counts = Counter(
        planned=ledger.planned,
        done=ledger.done,
        skipped=ledger.skipped,
        left_out=ledger.left_out,
    )
    ends = fates_of(ledger) if copy_outcomes.follows(found) else None
    siblings = siblings_in(found, ledger, request.user)
    return told(found, counts) | {
        "fates": ends,
        "siblings": list(map(asdict, siblings)),
        "left_out_because": courses.left_out(ledger),
    }


def told(found: Operation, counts: Counter[str]) -> dict[str, Any]:
    """An operation as JSON, without the outcomes and ways of its messages.

    Args:
        found: with its course and its approval.
        counts: of its items, by status.
    """
    fields = ("id", "kind", "state", "scope", "argument", "reason", "created_at")
    statuses = ("planned", "done", "skipped", "left_out")
    return {
        **{name: getattr(found, name) for name in fields},
        "undoes": found.undoes_id,
        "created_by": found.created_by.get_username(),
        "started_at": found.started_at,
        "ended_at": found.ended_at,
        **{status: counts[status] for status in statuses},
        "approval": approval_told(getattr(found, "approval", None)),
        "course": told_of(courses.course_of(found)),
        "fates": None,
        "siblings": None,
        "left_out_because": None,
    }


def approval_told(one: Approval | None) -> dict[str, Any] | None:
    if one is None:
        return None
    by = one.approved_by
    return {
        "seal": one.seal,
        "expires_at": one.expires_at,
        "approved_by": by.get_username() if by else None,
        "approved_at": one.approved_at,
    }


def told_of(course: Course) -> dict[str, Any]:
    halt = courses.halt_of(course)
    return {
        "stage": course.stage,
        "pace": course.pace,
        "canary": course.canaries,
        "paused_at": course.paused_at,
        "stop": halt and halt.stored(),
    }


def fates_of(ledger: results.Ledger) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for (fate, _), messages in ledger.ends.items():
        counts["open" if fate is None else Fate(fate).name.lower()] += messages
    return {name: counts[name] for name in Fates.model_fields}


@router.get(
    "/operations/{int:operation_id}/items",
    response={200: Items, **REFUSED},
    summary="The items of an operation",
)
def read_items(
    request: HttpRequest, operation_id: Path[int], page: Query[ItemQuery]
) -> dict[str, Any]:
    """Items in the order of processing."""
    found, ledger = seen(request, operation_id)
    rows = results.items_after(found, page.status, page.after, page.limit + 1)
    part = rows[: page.limit]
    return {
        "items": numbered([item_told(one, ledger) for one in part]),
        "next": part[-1].pk if len(rows) > page.limit else None,
    }


def item_told(one: OperationItem, ledger: results.Ledger) -> dict[str, Any]:
    """An item as JSON, without the number of its message."""
    plain = ("message_id", "target", "status", "note", "copy_id")
    return {
        **{name: getattr(one, name) for name in plain},
        "id": one.pk,
        "queue": ledger.names.get(one.queue_id, ""),
        "fate": "" if one.fate is None else Fate(one.fate).name.lower(),
    }


def seen(request: HttpRequest, operation_id: int) -> tuple[Operation, results.Ledger]:
    """An operation that the caller may see, as for the pages."""
    require(request, "broker.view_queue")
    known = Operation.objects.select_related(*ABOUT)
    found = known.filter(pk=operation_id).first() if operation_id < 2**63 else None
    if found is None:
        raise Http404(f"operation {operation_id}")
    ledger = results.ledger_of(found)
    require_sight(request.user, ledger)
    return found, ledger
