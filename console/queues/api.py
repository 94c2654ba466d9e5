"""Acts on queues, their counters, and what queues did over time."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema

from broker.acts.queues import (
    pause_queue,
    reset_counters,
    resume_queue,
    start_delivery,
)
from broker.monitoring import counters
from broker.security import authorities
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.edges.rest.requests import named
from console.queues import over_time
from console.queues.history_points import HistoryPoints, Window, points_of

router = Router(tags=["queues"])


class Counters(Schema):
    """Counts of a queue, and its depths now."""

    queue: str
    messages_added: int
    messages_acknowledged: int
    acknowledge_attempts: int
    messages_expired: int
    messages_killed: int
    delivering: int
    scheduled: int
    message_count: int
    since: dict[str, datetime]  # time of the last reset, by counter


class QueueHistory(HistoryPoints):
    """What a queue did over time, the oldest step first."""

    queue: str


class TotalWindow(Window):
    """A range of time, and which queues are added up."""

    # consumers: those with ConnectionConsumers; queues: all without dead letters
    of: Literal["queues", "consumers"] = "queues"


@router.get(
    "/queues/{queue:name}/history",
    response={200: QueueHistory, **REFUSED},
    summary="What a queue did over time",
)
def read_history(
    request: HttpRequest, name: Path[str], window: Query[Window]
) -> dict[str, Any]:
    """At most 180 steps of equal length; the longer the range, the longer they are.
    With ``from``, ``range`` is ignored, and without ``to`` the range ends now. Samples
    are kept for 92 days. Needs the authority ``inquire``.
    """
    require(request, "broker.view_queue")
    queue = named(name)
    authorities.require(request.user, "inquire", queue.name)
    return {"queue": queue.name} | points_of([queue.pk], window)


@router.get(
    "/history",
    response={200: HistoryPoints, **REFUSED},
    summary="What all queues did over time",
)
def read_total_history(
    request: HttpRequest, window: Query[TotalWindow]
) -> dict[str, Any]:
    """The sum of all queues that the caller may inquire, as on the overview."""
    require(request, "broker.view_queue")
    is_total = window.of == "queues"
    ids_of = over_time.ids_of_every_queue if is_total else over_time.ids_of_consumers
    return points_of(ids_of(request.user), window)


@router.get(
    "/queues/{queue:name}/counters",
    response={200: Counters, **REFUSED},
    summary="The counters of a queue",
)
def read_counters(request: HttpRequest, name: Path[str]) -> dict[str, Any]:
    """Counters of a queue, consistent at one moment. In the queue's name, each byte of
    UTF-8 other than a letter, a digit or one of ``. _ -`` is written as ``~`` and two
    hexadecimal digits.
    """
    require(request, "broker.view_queue")
    queue = named(name)
    authorities.require(request.user, "inquire", queue.name)
    counted, since = counters.read_counters(queue.pk)
    values = {one: getattr(counted, one) for one in counters.ALL}
    return {"queue": queue.name, "since": since, **values}


for path, one in (
    ("/queues/{queue:name}/pause", pause_queue),
    ("/queues/{queue:name}/resume", resume_queue),
    ("/queues/{queue:name}/counters/reset", reset_counters),
    ("/queues/{queue:name}/start-delivery", start_delivery),
):
    serve(router, "POST", path, one, name="queue")
