"""Rows of reports, published: a file of the archive, and rows in PostgreSQL for pages.

Of a report of minutes PostgreSQL has the hours, so that a thousand queues for a month
are less than a million rows; the minutes are in the file only (``minute_rows``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection, transaction

from dashboards import sql
from dashboards.models import ArchiveFile, PublishedDay, ReportRow, ReportRun
from dashboards.pipeline.archive import harden, root, writer
from dashboards.pipeline.manifest import (
    GOLD,
    current,
    folder_name,
    of_day,
    put_in_place_of,
)
from dashboards.reports import Report

STORE = sql.statement("store_rows")


def table_of(report: Report) -> str:
    return f"{GOLD}/{report.slug}"


@transaction.atomic
def publish(
    report: Report, run_id: int, day: date, version: int, found: pa.Table
) -> None:
    """Replace the published rows of a day."""
    ReportRow.objects.filter(report=report.slug, day=day).delete()
    store(by_hour(report, found), report.slug, day=day)
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


def by_hour(report: Report, found: pa.Table) -> pa.Table:
    """Rows of minutes, added up; of other reports, as they are."""
    if not report.is_of_minutes or report.time is None:
        return found
    at = found.column_names.index(report.time.name)
    # Without a time zone, the time remains in UTC, and pyarrow needs no list of zones.
    minutes = found[at].cast(pa.timestamp("us"))
    hours = pc.floor_temporal(minutes, unit="hour").cast(found.schema.types[at])
    counts = [one.name for one in report.columns if one.has_sum]
    keys = [name for name in found.column_names if name not in counts]
    groups = found.set_column(at, report.time.name, hours).group_by(keys)
    sums = groups.aggregate([(name, "sum") for name in counts])
    return sums.rename_columns([*keys, *counts]).select(found.column_names)


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
    """A row for JSON: times and days as ISO 8601 text. A number that is none, such as
    the mean of nothing, is not known."""
    return {name: cell(value) for name, value in row.items()}


def cell(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    is_number = not isinstance(value, float) or math.isfinite(value)
    return value if is_number else None
