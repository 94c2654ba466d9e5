"""Groups of dead letters: their state, and acts on them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Path, Router, Schema

from broker.acts.groups import (
    GroupState,
    acknowledge_group,
    describe_group,
    reopen_group,
    snooze_group,
    state_of,
    states_of,
)
from broker.monitoring import dead_letter_groups
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.messages.dead_letter_query import names_for
from dashboards.live import attention

router = Router(tags=["dead letter groups"])


class EveryGroup(Schema):
    as_of: datetime  # the time of the count, up to some seconds ago
    groups: list[GroupState]


ONE = "/dead-letter-groups/{fingerprint}"


@router.get(
    "/dead-letter-groups",
    response={200: EveryGroup, **REFUSED},
    summary="Groups of dead letters",
)
def list_groups(request: HttpRequest) -> dict[str, Any]:
    """Groups of dead letters on queues the caller may inquire, the largest first."""
    require(request, "broker.view_queue")
    names = names_for(request.user)
    seen = attention.newest()
    found = dead_letter_groups.by_fingerprint(
        group for group in seen.every if group.queue_id in names
    )
    return {"as_of": seen.at, "groups": states_of(found, names, seen.trends(names))}


@router.get(ONE, response={200: GroupState, **REFUSED}, summary="A group")
def read_group(request: HttpRequest, fingerprint: Path[str]) -> GroupState:
    """One group, also if it has no dead letters now."""
    require(request, "broker.view_queue")
    return state_of(request.user, fingerprint)


for method, path, one in (
    ("PUT", "description", describe_group),
    ("POST", "acknowledge", acknowledge_group),
    ("POST", "snooze", snooze_group),
    ("POST", "reopen", reopen_group),
):
    serve(router, method, f"{ONE}/{path}", one, after=attention.forget)
