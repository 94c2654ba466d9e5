"""Gold: rows of reports, by day or by run, counted from silver and checked against it.

The rows of a day replace those that were published for it, in one transaction. A report
with parameters looks back some days; its rows belong to its run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from dashboards.models import PublishedDay
from dashboards.pipeline import sources, totals
from dashboards.pipeline.manifest import DAY, SILVER, Span, current, place
from dashboards.pipeline.report_rows import publish, table_of
from dashboards.reports.declaration import AS_OF, DAYS, Report, gettext_noop
from dashboards.reports.quality import require_equal

AT_ONCE = 31  # days that are computed together
AT_ONCE_OF_MINUTES = 7  # for reports of minutes: a day may have a million rows
Around = Callable[[float, float], AbstractContextManager[None]]


def stale(report: Report) -> dict[date, int]:
    """The days of silver that a report has not processed yet, and their versions."""
    published = PublishedDay.objects.filter(table=table_of(report))
    counted = dict(published.filter(code=report.version).values_list("day", "source"))
    if report.is_of_minutes:  # a day whose file is missing is built again
        files = current(table_of(report))
        there = {file.day for file in files if place(file).exists()}
        counted = {day: version for day, version in counted.items() if day in there}
    days = PublishedDay.objects.filter(table=SILVER).order_by("day")
    return {
        day: version
        for day, version in days.values_list("day", "version")
        if counted.get(day) != version
    }


def bring_up_to_date(
    spark: SparkSession,
    run_id: int,
    report: Report,
    as_of: datetime,
    around: Around,
) -> int:
    """Build and publish the rows of all stale days; return the number of rows."""
    waiting = list(stale(report).items())
    many = AT_ONCE_OF_MINUTES if report.is_of_minutes else AT_ONCE
    rows = 0
    for first in range(0, len(waiting), many):
        some = dict(waiting[first : first + many])
        share = min(1.0, (first + many) / len(waiting))
        with around(first / len(waiting), share):
            found = count(spark, report, Span(min(some), max(some)), {AS_OF: as_of})
        for day, version in some.items():
            of_day = found.filter(pc.field("day") == day)
            publish(report, run_id, day, version, of_day)
            rows += of_day.num_rows
    return rows


def answer(
    spark: SparkSession, report: Report, said: Mapping[str, Any], as_of: datetime
) -> pa.Table:
    """The rows of a report with parameters, which set how many days it looks back."""
    values = report.read(said)
    span = period(values, as_of.date())
    return count(spark, report, span, values | {AS_OF: as_of})


def period(values: Mapping[str, Any], last: date) -> Span:
    """The days that a report with parameters looks back."""
    back = values.get(DAYS)
    return Span(last - (back - 1) * DAY if back else date.min, last)


def count(
    spark: SparkSession, report: Report, span: Span, values: Mapping[str, Any]
) -> pa.Table:
    """The report's rows for some days, with exactly its columns, checked."""
    inputs = {one: sources.table_of(spark, one, span) for one in report.inputs}
    found = stored(report, report.build(inputs, values)).toArrow()
    totals.require(report, found, totals.of_days(report, inputs, span))
    if report.check:
        report.check(inputs, found.to_pylist())
    return found


def stored(report: Report, built: DataFrame) -> DataFrame:
    """The rows that a report built, with exactly the columns that it declares."""
    declared = [one.name for one in report.columns]
    strange = len({*built.columns} ^ {*declared})
    require_equal(
        gettext_noop("the result has every column of the report, and no other"),
        strange,
        0,
    )
    return built.selectExpr(
        *(f"CAST({one.name} AS {one.stored}) AS {one.name}" for one in report.columns)
    )
