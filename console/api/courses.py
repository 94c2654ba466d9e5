"""Control of operations: pause, continue, rate limit, and the size of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker import operations
from broker.models import Operation
from broker.operations import Only, canary, rate_limit
from console.accounts import permissions
from console.api.operations import OperationState, seen, state_of
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody
from console.operations import patch_changes, results
from console.operations.permissions import require_ways

router = Router(tags=["operations"])

ANSWERS: dict[int, type[Schema]] = {200: OperationState, **REFUSED}
Pace = Field(default=None, ge=1, le=rate_limit.FASTEST)
Canary = Field(default=None, ge=0, le=canary.WATCHED)
Reason = Field(default="", max_length=500, pattern=NO_NUL)


class GivenReason(RequestBody):
    """The reason, for the audit."""

    reason: str = Reason


class NewPace(RequestBody):
    """The new rate limit."""

    pace: int | None = Pace


class Narrowing(RequestBody):
    """How many messages a plan keeps."""

    messages: int = Field(ge=1, lt=2**31)
    sample: bool = False  # false: the first messages; true: a random sample


class Explained(RequestBody):
    """The reason why the plan should be approved."""

    reason: str = Field(min_length=1, max_length=500, pattern=NO_NUL)


class PlannedRest(RequestBody):
    """An empty body."""


class Onwards(RequestBody):
    """How the operation continues."""

    at_once: bool = False  # true: the whole rest, without a further trial


@router.post(
    "/operations/{int:operation_id}/ceiling",
    response=ANSWERS,
    summary="Include messages that were left out",
)
def take_in(
    request: HttpRequest, operation_id: Path[int], why: GivenReason
) -> dict[str, Any]:
    """Adds to a plan the messages left out of it: resubmitted too often, or notices."""
    require(request, permissions.CHANGE)
    planned, _ = seen(request, operation_id)
    with transaction.atomic():
        operations.take_in(planned.pk, why.reason)
        require_ways(request.user, planned, results.ledger_of(planned))
        return state_of(request, planned.pk)


@router.post(
    "/operations/{int:operation_id}/narrow",
    response=ANSWERS,
    summary="Keep a part of a plan",
)
def narrow_operation(
    request: HttpRequest, operation_id: Path[int], to: Narrowing
) -> dict[str, Any]:
    """Keeps only the first messages of a plan, or a random sample; the others are taken
    out of it, and stay as they are.
    """

    def narrow(operation_id: int) -> None:
        operations.narrow(operation_id, Only(to.messages, sampled=to.sample))

    return steered(request, operation_id, narrow)


@router.post(
    "/operations/{int:operation_id}/explain",
    response=ANSWERS,
    summary="Explain a plan to its approver",
)
def explain_operation(
    request: HttpRequest, operation_id: Path[int], why: Explained
) -> dict[str, Any]:
    """Stores the reason of a plan that waits for approval; only its planner may."""

    def explain(operation_id: int) -> None:
        operations.explain(operation_id, request.user, why.reason.strip())

    return steered(request, operation_id, explain)


@router.post(
    "/operations/{int:operation_id}/rest",
    response=ANSWERS,
    summary="Plan the rest of a stopped operation",
)
def plan_rest(
    request: HttpRequest, operation_id: Path[int], said: PlannedRest
) -> dict[str, Any]:
    """Cancels a repair that stopped itself, and plans what it left, to be patched anew.
    Returns that plan. Needs the authorities of the operation, and ``browse``.
    """
    require(request, permissions.CHANGE)
    require(request, "broker.browse_queue")
    with transaction.atomic():
        stopped, _ = seen(request, operation_id)
        patch_changes.require(request.user, stopped)
        plan = operations.plan_rest(request.user, stopped.pk)
    return state_of(request, plan.pk)


@router.post(
    "/operations/{int:operation_id}/pause", response=ANSWERS, summary="Pause it"
)
def pause_operation(request: HttpRequest, operation_id: Path[int]) -> dict[str, Any]:
    """Pauses the operation until it is continued."""
    return steered(request, operation_id, operations.pause)


@router.post(
    "/operations/{int:operation_id}/continue", response=ANSWERS, summary="Carry on"
)
def continue_operation(
    request: HttpRequest, operation_id: Path[int], how: Onwards
) -> dict[str, Any]:
    """Continues after a pause, or after the operation stopped itself. Needs the same
    authorities as starting it.
    """

    def carry_on(operation_id: int) -> None:
        found = Operation.objects.get(pk=operation_id)
        require_ways(request.user, found, results.ledger_of(found))
        operations.carry_on(operation_id, at_once=how.at_once)

    return steered(request, operation_id, carry_on)


@router.post(
    "/operations/{int:operation_id}/pace", response=ANSWERS, summary="Change its pace"
)
def pace_operation(
    request: HttpRequest, operation_id: Path[int], new: NewPace
) -> dict[str, Any]:
    """Sets the rate limit; for a plan, from its start."""

    def change(operation_id: int) -> None:
        operations.set_pace(operation_id, new.pace)

    return steered(request, operation_id, change)


@transaction.atomic
def steered(
    request: HttpRequest, operation_id: int, change: Callable[[int], None]
) -> dict[str, Any]:
    """Change the course of an operation that the caller may see."""
    require(request, permissions.CHANGE)
    found, _ = seen(request, operation_id)
    change(found.pk)
    return state_of(request, found.pk)
