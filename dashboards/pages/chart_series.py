"""Data of a report's charts, summed in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any, TypeVar

from django.db.models import Case, DateTimeField, F, FloatField, Sum, Value, When
from django.db.models.functions import Abs, Cast, Trunc

from dashboards.pages.by_minute import MINUTE, MinuteRows
from dashboards.pages.charts import Drawing, Points, Series, draw, every_step
from dashboards.pages.results import Found, ResultsQuery, text_of, value_of
from dashboards.reports import Chart, Column, Report

MOST_SERIES = 6  # series with their own colour; the others are summed, in grey
MOST_ROWS = 24  # rows of a grid
MOST_PLACES = 1500  # the most places on the x axis of a line; other charts have no more
MOST_BARS = 120
# colours by the column and the key of a series
Colours = dict[tuple[str, str | None], int]
Sums = dict[tuple[Any, str | None], float]
Rows = TypeVar("Rows")
PointsOf = Callable[[Rows, ResultsQuery, Drawing], Points]
HOUR = "hour"
LENGTHS = {
    MINUTE: timedelta(minutes=1),
    HOUR: timedelta(hours=1),
    "day": timedelta(days=1),
}


def drawings(
    rows: Rows, wanted: ResultsQuery, points_of: PointsOf[Rows]
) -> list[Drawing]:
    """The charts of a report for the selected rows; none without rows.

    Args:
        rows: as ``points_of`` takes them.
        points_of: sums up the rows for one chart.
    """
    colours: Colours = {}
    charts: list[Drawing] = []
    for chart in wanted.report.charts:
        plan = planned(chart, wanted)
        points = points_of(rows, wanted, plan)
        if points.series and points.places:
            series = coloured(points.series, chart.series, colours)
            points = replace(points, series=series)
            charts.append(draw(replace(plan, series=series), points))
    return charts


def planned(chart: Chart, wanted: ResultsQuery) -> Drawing:
    """A chart with its columns, and nothing drawn yet."""
    columns = {one.name: one for one in wanted.report.columns}
    x, y = columns[chart.x], columns[chart.y]
    by = part_of_time(wanted, x) if x.type == "moment" else ""
    return Drawing(chart, x, y, [], columns.get(chart.series), by)


def coloured(series: Sequence[Series], column: str, colours: Colours) -> list[Series]:
    """The series with their numbers as colours: the same number in all charts of a
    page, and no number twice in one chart."""
    found: dict[str | None, int] = {}
    for one in series:
        kept = colours.get((column, one.key))
        if kept is not None and kept not in found.values():
            found[one.key] = kept
    taken = {n for (of, _), n in colours.items() if of == column}
    for one in series:
        if one.key is None:
            found[one.key] = MOST_SERIES
        elif one.key not in found:
            free = set(range(max(MOST_SERIES, len(series)))) - {*found.values()}
            found[one.key] = min(free - taken or free)
            colours.setdefault((column, one.key), found[one.key])
    return [replace(one, n=found[one.key]) for one in series]


def part_of_time(wanted: ResultsQuery, x: Column) -> str:
    """The unit of time to sum by, so that a line has few enough points."""
    if not wanted.report.is_by_day:
        return HOUR
    span = timedelta(days=wanted.days)
    units = [one for one in LENGTHS if one != MINUTE or x.unit != HOUR]
    return next(one for one in units if span / LENGTHS[one] <= MOST_PLACES)


def points_of(rows: Found, wanted: ResultsQuery, plan: Drawing) -> Points:
    """The data of a chart.

    Args:
        rows: as ``results.found``; also if minutes are asked for.
    """
    x, y, of, by = plan.x, plan.y, plan.of, plan.by
    place = place_of(x, wanted.report, by)
    amount = Cast(text_of(y), FloatField())
    name = text_of(of) if of else Value("")
    every = rows.order_by().annotate(place=place, name=name, amount=amount)
    every = every.exclude(place=None).exclude(amount=None)
    totals = every.values_list("name").annotate(total=Sum("amount"))
    totals = totals.annotate(size=Sum(Abs("amount"))).exclude(size=0)
    most = MOST_ROWS if plan.chart.type == "grid" else MOST_SERIES
    largest = list(totals.order_by("-total", "name")[: most + 1])
    named = [key for key, *_ in largest[:most]]
    known = [one for one in named if one is not None]
    if wanted.is_by_minute and by == MINUTE:
        sums = MinuteRows.of(rows, wanted.report).totals(y, known)
    else:
        summed = every.annotate(
            key=Case(When(name__in=known, then=F("name")), default=Value(None))
        )
        found = summed.values_list("place", "key").annotate(total=Sum("amount"))
        sums = {
            (one, key): total
            for one, key, total in found.order_by("-place")[: MOST_PLACES * most]
        }
    places = places_of(sums, wanted, x, by)
    return Points(sums, places, series_of(sums, known))


def place_of(x: Column, report: Report, by: str) -> Any:
    if not by:
        return value_of(x, report)
    return Trunc(Cast(text_of(x), DateTimeField()), by, tzinfo=UTC)


def series_of(
    sums: dict[tuple[Any, str | None], float], known: list[str]
) -> list[Series]:
    totals: dict[str | None, float] = {}
    for (_, key), total in sums.items():
        totals[key] = totals.get(key, 0) + total
    order: list[str | None] = [one for one in known if one in totals]
    if any(total for (_, key), total in sums.items() if key is None):
        order.append(None)
    return [Series(key, n, totals[key]) for n, key in enumerate(order)]


def places_of(sums: Sums, wanted: ResultsQuery, x: Column, by: str) -> list[Any]:
    """All places of a period, or those that have data."""
    there = sorted({place for place, _ in sums})
    if not there:
        return []
    if by:
        return every_step(there[0], there[-1], LENGTHS[by])[-MOST_PLACES:]
    if wanted.report.is_by_day and x.name == "day":
        return wanted.period
    return there[
        -(
            MOST_PLACES
            if x.type in ("number", "seconds", "count", "day")
            else MOST_BARS
        ) :
    ]
