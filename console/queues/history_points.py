"""What queues or links did over time, as the REST interface gives it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from django.utils import timezone
from ninja import Schema
from ninja.errors import ValidationError
from pydantic import AwareDatetime, Field

from broker.monitoring.history import reading
from console.edges.time_range import NoRange, Range


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
