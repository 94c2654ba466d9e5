"""What queues or links did over time, for REST and commands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from django.utils import timezone

from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.monitoring.history import reading
from console.edges.queries import build_answer
from console.edges.time_range import NoRange, Range


@dataclass(frozen=True, slots=True)
class Window:
    """A range of time: the last minutes, hours or days, or from a time to a time."""

    range: Annotated[
        Literal["15m", "1h", "6h", "24h", "7d", "30d"],
        Holds("The last minutes, hours or days."),
    ] = "1h"
    begin: Annotated[
        datetime | None, Holds("From when.", is_past=True, word="from")
    ] = None
    end: Annotated[datetime | None, Holds("Up to when.", is_past=True, word="to")] = (
        None
    )


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One step. Depths and the age are the highest of the step; null is unknown."""

    at: datetime  # the end of the step
    ready: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    oldest_s: int | None = None  # age of the oldest ready message; 0: there is none
    added_per_s: float | None = None  # messages a second, put or added otherwise
    removed_per_s: float | None = None
    backed_out: int | None = None  # the number of backouts in the step
    dead_lettered: int | None = None
    p50_ms: float | None = None  # time from get to accept; null: none was accepted
    p95_ms: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of the step; tables leave it out."""
        known = (getattr(self, one.name) for one in fields(self) if one.name != "at")
        return all(value is None for value in known)


@dataclass(frozen=True, slots=True)
class HistoryPoints:
    """What queues or a link did over time, the oldest step first."""

    empty: ClassVar = "Nothing is known of that time."

    begin: datetime
    end: datetime
    step_s: int
    points: Sequence[HistoryPoint]


def points_of(ids: Collection[int], window: Window) -> HistoryPoints:
    """The points of some queues or links in a range, added up.

    Raises:
        InvalidRequest: there is no such range.
    """
    now = timezone.now()
    try:
        asked = Range.of(window.range, window.begin, window.end, now=now)
    except NoRange as error:
        raise InvalidRequest((("from", str(error)),)) from None
    found = reading.read(ids, asked.begin, asked.end, now=now)
    points = [
        HistoryPoint(end) if point is None else build_answer(HistoryPoint, point)
        for end, point in zip(found.ends, found.points, strict=True)
    ]
    return HistoryPoints(found.begin, found.end, found.step_s, points)
