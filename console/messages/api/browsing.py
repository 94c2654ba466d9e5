"""Queues, and browsing their messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.models import Queue
from broker.security import authorities
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.queries import serve_query
from console.edges.rest.requests import named
from console.messages.queries.browsing import browse_queue
from dashboards.live import depths

router = Router(tags=["queues"])

VIEW = "broker.view_queue"


class QueueState(Schema):
    """A queue and its depths now."""

    name: str
    address: str
    paused: bool
    paused_until: datetime | None  # null: until somebody resumes it
    stopped: bool  # delivery to ConnectionConsumers is stopped
    takes_dead_letters: bool
    ready: int
    in_flight: int
    delayed: int


class Queues(Schema):
    """A page of queues; the next page begins after ``next``."""

    queues: list[QueueState]
    next: str | None


class QueuesPage(Schema):
    """Which queues, by name, and the size of the page."""

    # part of the queues' names
    text: str = Field(default="", max_length=255, pattern=NO_NUL)
    after: str = Field(default="", max_length=255, pattern=NO_NUL)
    limit: int = Field(default=100, ge=1, le=1000)


@router.get("/queues", response={200: Queues, **REFUSED}, summary="The queues")
def list_queues(request: HttpRequest, page: Query[QueuesPage]) -> dict[str, Any]:
    """Queues that the caller may inquire, by name, with their depths."""
    require(request, VIEW)
    found = sorted(depths.queues(user=request.user), key=lambda one: one.name)
    text = page.text.strip().lower()
    found = [one for one in found if text in one.name.lower() and one.name > page.after]
    part = found[: page.limit]
    return {
        "queues": states_of(part),
        "next": part[-1].name if len(found) > page.limit else None,
    }


@router.get(
    "/queues/{queue:name}", response={200: QueueState, **REFUSED}, summary="A queue"
)
def read_queue(request: HttpRequest, name: Path[str]) -> dict[str, Any]:
    """One queue with its depths."""
    require(request, VIEW)
    authorities.require(request.user, "inquire", named(name).name)
    return states_of(depths.queues(name))[0]


def states_of(queues: Sequence[depths.QueueDepth]) -> list[dict[str, Any]]:
    ids = [one.queue_id for one in queues if one.paused]
    ends = dict(Queue.objects.filter(pk__in=ids).values_list("pk", "paused_until"))
    plain = set(QueueState.model_fields) - {"in_flight", "paused_until"}
    return [
        {name: getattr(one, name) for name in plain}
        | {"in_flight": one.claimed, "paused_until": ends.get(one.queue_id)}
        for one in queues
    ]


serve_query(router, "/queues/{queue:name}/messages", browse_queue, name="queue")
