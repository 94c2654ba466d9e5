"""Gold: rows of reports, by day or by run, checked against silver and published.

The rows of a day replace those that were published for it, in one transaction: a
Parquet file in the manifest, and rows in PostgreSQL for pages. A report with parameters
looks back some days; its rows belong to its run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection, transaction
from pyspark.sql import DataFrame, SparkSession

from dashboards import sql
from dashboards.models import ArchiveFile, PublishedDay, ReportRow, ReportRun
from dashboards.pipeline import sources
from dashboards.pipeline.archive import harden, root, writer
from dashboards.pipeline.manifest import (
    DAY,
    GOLD,
    SILVER,
    Span,
    current,
    folder_name,
    of_day,
    put_in_place_of,
)
from dashboards.reports.declaration import AS_OF, DAYS, Report
from dashboards.reports.quality import require_equal

STORE = sql.statement("store_rows")
AT_ONCE = 7  # days that are computed together
Around = Callable[[float, float], AbstractContextManager[None]]


def table_of(report: Report) -> str:
    return f"{GOLD}/{report.slug}"


def stale(report: Report) -> dict[date, int]:
    """The days of silver that a report has not processed yet, and their versions."""
    published = PublishedDay.objects.filter(table=table_of(report))
    counted = dict(published.filter(code=report.version).values_list("day", "source"))
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
    rows = 0
    for first in range(0, len(waiting), AT_ONCE):
        some = dict(waiting[first : first + AT_ONCE])
        share = min(1.0, (first + AT_ONCE) / len(waiting))
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
    """The rows of a report with parameters; they set how many days it looks back."""
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
    built = report.build(inputs, values)
    found = stored(report, built).toArrow()
    report.check(inputs, found.to_pylist())
    return found


def stored(report: Report, built: DataFrame) -> DataFrame:
    """The rows that a report built, with exactly the columns that it declares."""
    declared = [one.name for one in report.columns]
    strange = len({*built.columns} ^ {*declared})
    require_equal("the report has the columns that it declares", strange, 0)
    return built.selectExpr(
        *(f"CAST({one.name} AS {one.stored}) AS {one.name}" for one in report.columns)
    )


@transaction.atomic
def publish(
    report: Report, run_id: int, day: date, version: int, found: pa.Table
) -> None:
    """Replace the published rows of a day."""
    ReportRow.objects.filter(report=report.slug, day=day).delete()
    store(found, report.slug, day=day)
    listed = current(table_of(report)).filter(day=day)
    put_in_place_of(listed, [file(report, run_id, day, found)])
    PublishedDay.objects.update_or_create(
        table=table_of(report),
        day=day,
        defaults={
            "version": run_id,
            "source": version,
            "code": report.version,
            "rows": found.num_rows,
        },
    )


def keep(run: ReportRun, report: Report, found: pa.Table) -> None:
    """Store the rows of a run; the caller's transaction publishes them."""
    store(found, report.slug, run=run.pk)


def store(
    found: pa.Table, report: str, *, day: date | None = None, run: int | None = None
) -> None:
    """Add rows of a day or of a run, by COPY, which costs the server least."""
    with connection.cursor() as cursor, cursor.copy(STORE) as rows:
        for n, row in enumerate(found.to_pylist(), 1):
            rows.write_row((report, day, run, n, json.dumps(cells(row))))


def file(report: Report, run_id: int, day: date, found: pa.Table) -> ArchiveFile:
    """Write a day's rows to a file; the caller lists it."""
    path = root() / GOLD / report.slug / str(day) / f"{folder_name(run_id)}.parquet"
    with writer(path, found.schema) as new:
        new.write_table(found)
    harden([path])
    about = {"version": report.version, "rows": found.num_rows}
    return of_day(table_of(report), day, path, **about)


def cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for JSON: times and days as ISO 8601 text."""
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in row.items()
    }
