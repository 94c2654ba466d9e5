"""Acts on queues, their counters, and what queues did over time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import AwareDatetime, Field

from broker.acts.queues import (
    pause_queue,
    reset_counters,
    resume_queue,
    start_delivery,
)
from broker.models import Queue
from broker.monitoring import counters
from broker.monitoring.history import reading
from broker.security import authorities
from console.edges.problems import REFUSED, require
from console.edges.rest import serve
from console.queues import over_time
from console.queues.over_time import NoRange, Range

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


class Window(Schema):
    """A range of time: the last minutes, hours or days, or from a time to a time."""

    range: Literal["15m", "1h", "6h", "24h", "7d", "30d"] = "1h"
    begin: AwareDatetime | None = Field(default=None, alias="from")
    end: AwareDatetime | None = Field(default=None, alias="to")


class HistoryPoint(Schema):
    """One step. Depths and the age are the highest of the step; null is unknown."""

    at: datetime  # the end of the step
    ready: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    oldest_s: int | None = None  # age of the oldest ready message; 0: there is none
    added_per_s: float | None = None  # messages a second, by any way
    removed_per_s: float | None = None
    backed_out: int | None = None  # in the step
    dead_lettered: int | None = None
    p50_ms: float | None = None  # time from get to accept; null: none was accepted
    p95_ms: float | None = None


class HistoryPoints(Schema):
    """What queues or a link did over time, the oldest step first."""

    begin: datetime
    end: datetime
    step_s: int
    points: list[HistoryPoint]


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


def points_of(ids: Collection[int], window: Window) -> dict[str, Any]:
    """The points of some queues or links in a range, added up.

    Raises:
        ValidationError: there is no such range.
    """
    now = timezone.now()
    try:
        asked = Range.of(window.range, window.begin, window.end, now=now)
    except NoRange as error:
        where = {"loc": ["query", "from"], "msg": str(error)}
        raise ValidationError([where]) from error
    found = reading.read(ids, asked.begin, asked.end, now=now)
    return {
        "begin": found.begin,
        "end": found.end,
        "step_s": found.step_s,
        "points": [
            {"at": end} if point is None else asdict(point)
            for end, point in zip(found.ends, found.points, strict=True)
        ],
    }


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


def named(name: str) -> Queue:
    found = Queue.objects.filter(name=name).first()
    if found is None:
        raise Http404(f"queue {name}")
    return found
