"""Rows of silver that the totals of reports count, of all reports by day in one pass.

The reports of a night are runs of their own over the same days. The first one counts
for all; the others know the numbers, as long as the days have the same files.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from dashboards.pipeline.manifest import Span, touching
from dashboards.reports import Report, discover
from dashboards.reports.declaration import Inputs
from dashboards.reports.quality import require_equal

MOST = 100  # counts that are remembered
Conditions = tuple[str, ...]
Counts = dict[str, int]  # numbers of rows, by condition
KNOWN: dict[tuple[str, Conditions, tuple[str, ...]], Counts] = {}


def conditions(table: str, reports: Iterable[Report]) -> Conditions:
    """Which rows of a table the totals of some reports count."""
    totals = (total for one in reports for total in one.totals)
    return tuple(sorted({one.rows[table] for one in totals if table in one.rows}))


def of_days(report: Report, inputs: Inputs, span: Span) -> dict[str, Counts]:
    """What the totals of a report count, by table; remembered by the files' content."""
    every = [one for one in discover().values() if one.is_by_day]
    found = {}
    for table in inputs:
        if conditions(table, [report]):
            asked = conditions(table, every if report.is_by_day else [report])
            files = tuple(file.checksum for file in touching(table, span))
            key = (table, asked, files)
            if key not in KNOWN and len(KNOWN) >= MOST:
                KNOWN.clear()
            if key not in KNOWN:
                KNOWN[key] = counted(inputs[table], asked)
            found[table] = KNOWN[key]
    return found


def counted(frame: DataFrame, asked: Conditions) -> Counts:
    [row] = frame.selectExpr(*(f"count_if({one})" for one in asked)).collect()
    return dict(zip(asked, row, strict=True))


def require(report: Report, found: pa.Table, counts: dict[str, Counts]) -> None:
    """
    Raises:
        QualityBroken: the rows of a report do not add up to what its totals count.
    """
    for one in report.totals:
        summed = sum(pc.sum(found[name]).as_py() or 0 for name in one.columns)
        expected = sum(counts[table][which] for table, which in one.rows.items())
        require_equal(one.claim, summed, expected)
