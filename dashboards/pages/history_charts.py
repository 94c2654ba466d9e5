"""Charts of what queues and links did over time, and a table with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext, gettext_noop

from broker.monitoring.history.reading import History, Point
from dashboards.pages.charts import RIGHT, Drawing, Mark, Points, Series, draw, units
from dashboards.pages.wording import column
from dashboards.reports import Chart, Column

WIDTH, HEIGHT, LEFT = 480, 150, 76
AT, NAME = (
    Column("at", gettext_noop("Time"), "moment"),
    Column("series", gettext_noop("Series"), "text"),
)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart, and one column of the table."""

    name: str
    colour: int  # the number of a colour in static/css/charts.css
    value: Callable[[Point], float | None]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: lines with one axis."""

    title: str
    of: Column
    lines: Sequence[Line]
    is_always: bool = True  # whether the chart is shown even if no value is known


def ms(name: str) -> Callable[[Point], float | None]:
    """A time in seconds, of a field in milliseconds."""

    def value(point: Point) -> float | None:
        found: float | None = getattr(point, name)
        return None if found is None else found / 1000

    return value


COUNT = Column("n", gettext_noop("Messages"), "count", adds_up=False)
RATE = Column("n", gettext_noop("Messages a second"), "number")
SECONDS = Column("n", gettext_noop("Time"), "seconds")
RATES = Panel(
    gettext_noop("In and out, a second"),
    RATE,
    (
        Line(gettext_noop("In"), 0, attrgetter("added_per_s")),
        Line(gettext_noop("Out"), 2, attrgetter("removed_per_s")),
    ),
)
AGE = Panel(
    gettext_noop("Age of the oldest message"),
    SECONDS,
    (Line(gettext_noop("Oldest"), 0, attrgetter("oldest_s")),),
)
OF_QUEUES = (
    Panel(
        gettext_noop("Depth"),
        COUNT,
        (
            Line(gettext_noop("Ready"), 0, attrgetter("ready")),
            Line(gettext_noop("In flight"), 2, attrgetter("in_flight")),
            Line(gettext_noop("Delayed"), 3, attrgetter("delayed")),
        ),
    ),
    RATES,
    AGE,
    Panel(
        gettext_noop("Backed out and dead-lettered"),
        COUNT,
        (
            Line(gettext_noop("Backed out"), 1, attrgetter("backed_out")),
            Line(gettext_noop("Became dead letters"), 4, attrgetter("dead_lettered")),
        ),
    ),
    Panel(
        gettext_noop("Time from get to accept"),
        SECONDS,
        (Line("p50", 2, ms("p50_ms")), Line("p95", 1, ms("p95_ms"))),
        is_always=False,
    ),
)
OF_LINKS = (
    RATES,
    Panel(
        gettext_noop("Waiting at the source"),
        COUNT,
        (Line(gettext_noop("Waiting"), 0, attrgetter("ready")),),
    ),
    AGE,
    Panel(
        gettext_noop("Dead messages"),
        COUNT,
        (Line(gettext_noop("Dead"), 4, attrgetter("dead_lettered")),),
    ),
)


def visible_panels(history: History, panels: Sequence[Panel]) -> list[Panel]:
    """The panels that have something to show."""
    known = [point for point in history.points if point is not None]
    return [
        one
        for one in panels
        if one.is_always
        or any(line.value(point) is not None for line in one.lines for point in known)
    ]


def drawings(
    history: History,
    panels: Sequence[Panel],
    notes: Sequence[tuple[datetime, str]] = (),
) -> list[Drawing]:
    """The charts of a range, one for each panel.

    Args:
        notes: moments to mark, each with its text.
    """
    by = "date" if history.end - history.begin > DAY else "clock"
    return [drawing(history, one, by, notes) for one in panels]


def drawing(
    history: History, panel: Panel, by: str, notes: Sequence[tuple[datetime, str]]
) -> Drawing:
    names = {one.name: gettext(one.name) for one in panel.lines}
    series = [Series(names[one.name], one.colour, 0) for one in panel.lines]
    sums: dict[tuple[Any, str | None], float] = {
        (end, names[line.name]): value
        for end, point in zip(history.ends, history.points, strict=True)
        for line in panel.lines
        if point is not None and (value := line.value(point)) is not None
    }
    plan = Drawing(
        Chart(gettext(panel.title), "lines", AT.name, panel.of.name, NAME.name),
        column(AT),
        column(panel.of),
        series,
        column(NAME),
        by,
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        has_gaps=True,
    )
    first, last = history.ends[0], history.ends[-1]
    for at, words in notes:
        if first < at < last:
            x = plan.left + plan.room * ((at - first) / (last - first))
            plan.notes.append(Mark(units(x), words))
    return draw(plan, Points(sums, history.ends, series))


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One row of the table; a value is None where it is unknown."""

    at: datetime
    values: Sequence[tuple[Column, float | None]]


def rows(history: History, panels: Sequence[Panel]) -> list[HistoryRow]:
    """The points of all charts, in their order."""
    lines = [(panel.of, line) for panel in panels for line in panel.lines]
    return [
        HistoryRow(
            end,
            [(of, None if point is None else line.value(point)) for of, line in lines],
        )
        for end, point in zip(history.ends, history.points, strict=True)
    ]
