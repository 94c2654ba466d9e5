"""Queues, and browsing their messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.models import Queue
from broker.queueing import browse
from broker.security import audit, authorities
from console.edges import masking
from console.edges.numbers import numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import named
from console.messages.api.schemas import BrowsedMessage, FullMessage
from console.messages.documents import PLACES, brief, message_document
from dashboards.live import depths

router = Router(tags=["queues"])

YEAR_S = 366 * 86_400
VIEW, BROWSE = "broker.view_queue", "broker.browse_queue"


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


class Entries(Schema):
    """A page of the entries of a queue; the next page begins after ``next``."""

    entries: list[BrowsedMessage]
    # the same messages with properties and bodies, if requested
    messages: list[FullMessage] | None
    next: str | None


class EntriesPage(Schema):
    """Which entries, and the size of the page."""

    place: Literal["ready", "in-flight", "delayed"] = "ready"
    after: str = Field(default="", max_length=60, pattern=r"^[0-9._\-]*$")
    limit: int = Field(default=50, ge=1, le=200)
    whole: bool = False  # whether to return properties and bodies
    # reason for unmasking; needs the authority ``unmask``
    unmask: str = Field(default="", max_length=500, pattern=NO_NUL)


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


@router.get(
    "/queues/{queue:name}/messages",
    response={200: Entries, **REFUSED},
    summary="Browse a queue",
)
def browse_queue(
    request: HttpRequest, name: Path[str], page: Query[EntriesPage]
) -> dict[str, Any]:
    """Entries of the queue, in the order of gets, of due times, or of message numbers.
    Complete messages need the authority ``browse``.
    """
    require(request, BROWSE if page.whole else VIEW)
    queue = named(name)
    authorities.require(request.user, "browse" if page.whole else "inquire", name)
    place = PLACES[page.place]
    try:
        found = browse.browse(queue.pk, place, after=page.after, limit=page.limit + 1)
    except (ValueError, OverflowError) as error:
        where = ("query", "after")
        raise ValidationError([{"loc": where, "msg": f"no cursor: {error}"}]) from error
    part = found[: page.limit]
    return {
        "entries": numbered([brief(one) for one in part]),
        "messages": whole(request, queue, part, page.unmask) if page.whole else None,
        "next": part[-1].cursor if len(found) > page.limit else None,
    }


def whole(
    request: HttpRequest, queue: Queue, entries: list[browse.Browsed], why: str
) -> list[dict[str, Any]]:
    found = browse.whole(queue.pk, entries)
    sight = masking.sight_for(request.user, why, audit.Thing.of(queue))
    veils = sight.veils(one.message_id for one in found)
    return numbered([message_document(one, veils[one.message_id]) for one in found])
