"""Reports as files: CSV for spreadsheets, Parquet for programs, HTML for e-mail.

Files have the rows of the page, with the same filters, up to a stated limit. A few
hundred rows are in memory at once; for Parquet a row group.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string
from django.utils import translation

from dashboards.models import ReportRun
from dashboards.pages import cells, results
from dashboards.pages.by_minute import MinuteRows
from dashboards.pages.csv_safety import CsvSink, harmless
from dashboards.pages.results import Found, ResultsQuery
from dashboards.reports import Report

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
}
MOST = {"csv": 200_000, "parquet": 200_000, "html": 1_000}  # the most rows of a file
PAGE = 500  # rows in memory at once
GROUP = 20_000  # rows of a Parquet row group
SAFE = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}

Values = dict[str, Any]


def write(
    kind: str, rows: Found, wanted: ResultsQuery, run: ReportRun | None
) -> Iterator[bytes]:
    """The file in pieces, rows in order.

    Args:
        kind: one of ``TYPES``.
        rows: in no order.
        run: the run of the rows, if there is one.
    """
    found = results.in_order(rows, wanted)
    every = values(found[: MOST[kind]], wanted.report)
    if kind == "html":
        listed = list(every)
        total = found.count() if len(listed) == MOST["html"] else len(listed)
        sums = results.sums(rows, wanted.report)
        return iter([letter(listed, total, sums, wanted, run)])
    return WRITERS[kind](every, wanted.report)


def values(rows: Found | MinuteRows, report: Report) -> Iterator[Values]:
    for row in rows.iterator(chunk_size=PAGE):
        yield cells.values(report, row)


def headers(kind: str, report: Report, now: datetime) -> dict[str, str]:
    name = f"{report.slug}-{now.astimezone(UTC):%Y-%m-%dT%H%MZ}.{kind}"
    return SAFE | {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Type": TYPES[kind],
    }


def table(rows: Iterator[Values], report: Report) -> Iterator[bytes]:
    """CSV. A text that a spreadsheet would read as a formula gets a leading quote."""
    written: list[str] = []
    writer = csv.writer(CsvSink(written.append))
    writer.writerow([one.name for one in report.columns])
    for n, row in enumerate(rows, 1):
        writer.writerow(
            [harmless(cells.plain(one, row[one.name])) for one in report.columns]
        )
        if n % PAGE == 0:
            yield "".join(written).encode()
            written.clear()
    yield "".join(written).encode()


def parquet(rows: Iterator[Values], report: Report) -> Iterator[bytes]:
    """Parquet in row groups, with the report's declared types."""
    import pyarrow as pa  # noqa: PLC0415  only whoever asks for it waits for it
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = schema_of(report)
    into = io.BytesIO()
    with pq.ParquetWriter(into, schema, compression="zstd") as writer:
        group: list[Values] = []
        for row in rows:
            group.append(row)
            if len(group) == GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group.clear()
        writer.write_table(pa.Table.from_pylist(group, schema))
    yield into.getvalue()


def schema_of(report: Report) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415

    kinds = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(one.name, kinds[one.stored]) for one in report.columns])


@translation.override("en")  # files are English, whoever asks for them
def letter(
    every: list[Values],
    total: int,
    sums: Mapping[str, int],
    wanted: ResultsQuery,
    run: ReportRun | None,
) -> bytes:
    """A self-contained HTML page, without scripts or external images."""
    report = wanted.report
    context = {
        "report": report,
        "wanted": wanted,
        "run": run,
        "rows": [
            [(one, cells.in_words(one, row[one.name])) for one in report.columns]
            for row in every
        ],
        "sums": [
            cells.in_words(one, sums[one.name]) if one.name in sums else ""
            for one in report.columns
        ],
        "has_sums": bool(sums),
        "total": total,
        "shown": len(every),
    }
    return render_to_string("dashboards/letter.html", context).encode()


WRITERS: dict[str, Callable[[Iterator[Values], Report], Iterator[bytes]]] = {
    "csv": table,
    "parquet": parquet,
}


def run_of(report: Report, wanted: ResultsQuery) -> ReportRun | None:
    """The run to show: the requested one, or the last that succeeded."""
    done = ReportRun.objects.filter(report=report.slug, state=ReportRun.State.DONE)
    return done.filter(pk=wanted.run).first() if wanted.run else done.first()
