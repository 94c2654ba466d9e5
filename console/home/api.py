"""Health of the broker: what is wrong now, configuration problems and prepared units of
work."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from broker.problems.problem import ProblemState
from broker.security import authorities
from broker.transactions import prepared_units
from console.edges.rest.problems import REFUSED, require
from console.layout import settings_problems
from dashboards.live import problems

router = Router(tags=["health"])


class Finding(Schema):
    """A configuration problem."""

    code: str  # stable, and safe to match on
    queue: str  # the queue, the pattern of an address setting, or the group of users
    sentence: str
    remedy: str  # the recommended action


class PreparedUnit(Schema):
    """A prepared unit of work, waiting for its coordinator."""

    xid: str
    uow: int


class Health(Schema):
    """All findings on queues that the caller may inquire."""

    findings: list[Finding]
    prepared: list[PreparedUnit]


class Problems(Schema):
    """What is wrong now, on queues and links that the caller may inquire."""

    problems: list[ProblemState]


@router.get("/problems", response={200: Problems, **REFUSED}, summary="Problems")
def list_problems(request: HttpRequest) -> dict[str, Any]:
    """What is wrong now by all conditions, the most urgent first; `backout problems`
    lists the same.
    """
    require(request, "broker.view_queue")
    found = problems.visible(request.user, authorities.held_by(request.user))
    return {"problems": [one.state for one in found]}


@router.get("/health", response={200: Health, **REFUSED}, summary="Health")
def read_health(request: HttpRequest) -> dict[str, Any]:
    """Configuration problems, and prepared units of work that wait for a decision.
    Liveness and readiness are under ``/healthz`` and ``/readyz``, without
    authentication.
    """
    require(request, "broker.view_queue")
    held = authorities.held_by(request.user)
    return {
        "findings": settings_problems.all_for(request.user, held),
        "prepared": [
            {"xid": one.work.xid, "uow": one.work.uow}
            for one in prepared_units.waiting(held)
        ],
    }
