"""Data of a report's charts, summed in the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from django.db.models import Case, DateTimeField, F, FloatField, Sum, Value, When
from django.db.models.functions import Cast, Trunc

from dashboards.pages.charts import Drawing, Points, Series, draw, every_step
from dashboards.pages.results import Found, ResultsQuery, text_of, value_of
from dashboards.reports import Chart, Column, Report

MOST_SERIES = 7  # series with their own colour; the others are drawn as one
MOST_ROWS = 24  # rows of a grid
MOST_PLACES = 1500  # places of a line; no other chart has more
MOST_BARS = 120
Sums = dict[tuple[Any, str | None], float]
LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}


def drawings(rows: Found, wanted: ResultsQuery) -> list[Drawing]:
    """The charts of a report for the selected rows; none without rows."""
    drawn = (drawing(rows, one, wanted) for one in wanted.report.charts)
    return [one for one in drawn if one]


def drawing(rows: Found, chart: Chart, wanted: ResultsQuery) -> Drawing | None:
    columns = {one.name: one for one in wanted.report.columns}
    x, y = columns[chart.x], columns[chart.y]
    by = part_of_time(wanted) if x.type == "moment" else ""
    plan = Drawing(chart, x, y, [], columns.get(chart.series), by)
    points = points_of(rows, wanted, plan)
    if not points.series or not points.places:
        return None
    return draw(replace(plan, series=points.series), points)


def part_of_time(wanted: ResultsQuery) -> str:
    """The unit of time to sum by, so that a line has few enough points."""
    if not wanted.report.is_by_day:
        return "hour"
    span = timedelta(days=wanted.days)
    return next(one for one, length in LENGTHS.items() if span / length <= MOST_PLACES)


def points_of(rows: Found, wanted: ResultsQuery, plan: Drawing) -> Points:
    x, y, of, by = plan.x, plan.y, plan.of, plan.by
    place = place_of(x, wanted.report, by)
    amount = Cast(text_of(y), FloatField())
    name = text_of(of) if of else Value("")
    rows = rows.order_by().annotate(place=place, name=name, amount=amount)
    rows = rows.exclude(place=None).exclude(amount=None)
    totals = rows.values_list("name").annotate(total=Sum("amount"))
    most = MOST_ROWS if plan.chart.type == "grid" else MOST_SERIES
    largest = list(totals.order_by("-total", "name")[: most + 1])
    named = [key for key, _ in largest[:most]]
    known = [one for one in named if one is not None]
    summed = rows.annotate(
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
    if None in totals:
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
