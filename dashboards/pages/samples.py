"""The sample of a report, which its page shows until the report has run.

Its rows are what the report says of a made-up week of a broker. They are kept as files
beside the reports; a report of another package has none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from dashboards.models import ReportRow
from dashboards.pages import cells, chart_series, wording
from dashboards.pages.chart_series import MOST_ROWS, MOST_SERIES, Sums
from dashboards.pages.charts import Drawing, Points
from dashboards.pages.results import ResultsQuery
from dashboards.reports import Report

FOLDER = Path(__file__).parents[1] / "reports" / "samples"
SHOWN = 8  # rows of the table; charts have all
DAYS = 7


def sample_of(report: Report) -> dict[str, Any]:
    """The charts and the first rows of a report's sample; empty if it has none."""
    rows = stored(report)
    if not rows:
        return {}
    report = wording.translated(report.by_hour)
    newest = max((row.day for row in rows if row.day), default=date.max)
    wanted = ResultsQuery(report, newest, DAYS)
    return {
        "rows": [cells.cells_of(report, row) for row in rows[:SHOWN]],
        "more": max(len(rows) - SHOWN, 0),
        "drawings": chart_series.drawings(rows, wanted, points_in),
        "columns": report.columns,
    }


def stored(report: Report) -> Sequence[ReportRow]:
    """The rows of a sample, in the order of the page; none if there is no file."""
    path = FOLDER / f"{report.slug}.json"
    if not path.is_file():
        return ()
    found = []
    for n, line in enumerate(path.read_text().splitlines()):
        said = json.loads(line)
        day = date.fromisoformat(said["day"]) if report.is_by_day else None
        found.append(ReportRow(report=report.slug, day=day, n=n, cells=said))
    return found


def points_in(rows: Sequence[ReportRow], wanted: ResultsQuery, plan: Drawing) -> Points:
    """As ``chart_series.points_of``, of rows that no database has."""
    every: Counter[tuple[Any, Any]] = Counter()
    for row in rows:
        said = cells.values(wanted.report, row)
        place, amount = said[plan.x.name], said[plan.y.name]
        if place is not None and amount is not None:
            name = said[plan.of.name] if plan.of else ""
            every[start_of(place, plan.by), name] += amount
    totals: Counter[Any] = Counter()
    for (_, name), amount in every.items():
        totals[name] += amount
    most = MOST_ROWS if plan.chart.type == "grid" else MOST_SERIES
    known = [name for name, total in totals.most_common(most) if total]
    sums: Sums = {}
    for (place, name), amount in every.items():
        key = name if name in known else None
        sums[place, key] = sums.get((place, key), 0) + amount
    places = chart_series.places_of(sums, wanted, plan.x, plan.by)
    return Points(sums, places, chart_series.series_of(sums, known))


def start_of(place: Any, by: str) -> Any:
    """The hour or the day of a moment; anything else as it is."""
    if not isinstance(place, datetime):
        return place
    hour = place.replace(minute=0, second=0, microsecond=0)
    return hour.replace(hour=0) if by == "day" else hour
