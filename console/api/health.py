"""The health of the broker: what in its settings should be put right."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from broker.security import authorities
from console.api.problems import REFUSED, require
from console.layout import settings_problems as findings
from console.views.queues import prepared

router = Router(tags=["health"])


class Finding(Schema):
    """Something that should be put right."""

    code: str  # stable, and safe to match on
    queue: str  # or the pattern of a setting, or a group of people
    sentence: str
    remedy: str  # what to do


class PreparedUnit(Schema):
    """A prepared unit of work, which waits for its coordinator."""

    xid: str
    uow: int


class Health(Schema):
    """All that was found on the queues that one may inquire."""

    findings: list[Finding]
    prepared: list[PreparedUnit]


@router.get("/health", response={200: Health, **REFUSED}, summary="Health")
def read_health(request: HttpRequest) -> dict[str, Any]:
    """What should be put right, and what waits for a decision. Whether the processes
    live is told by ``/healthz`` and ``/readyz``, without signing in."""
    require(request, "broker.view_queue")
    held = authorities.held_by(request.user)
    return {
        "findings": findings.all_for(request.user, held),
        "prepared": [
            {"xid": one.work.xid, "uow": one.work.uow} for one in prepared.waiting(held)
        ],
    }
