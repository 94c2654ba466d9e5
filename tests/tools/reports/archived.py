"""What is in the archive and on pages, row for row, and what ought not to be there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dashboards.models import ArchiveFile, ExportWindow, ReportRow, ReportRun
from tests.dashboards.files import place, root

Rows = Counter[str]
OPEN = ExportWindow.State.OPEN


def tables() -> dict[str, Rows]:
    """Every table as it is published: by the manifest, and for pages. In no order."""
    found: dict[str, Rows] = {}
    for file in ArchiveFile.objects.filter(replaced_at__isnull=True):
        rows = pq.ParquetFile(place(file)).read().to_pylist()
        found.setdefault(file.table, Rows()).update(told(file.day, rows))
    for row in ReportRow.objects.select_related("run"):
        if row.run in {None, last_run(row.report)}:
            page = found.setdefault(f"page/{row.report}", Rows())
            page.update(told(row.day, [row.cells]))
    return found


def told(day: object, rows: Iterable[Any]) -> Iterator[str]:
    return (json.dumps([day, row], sort_keys=True, default=str) for row in rows)


def last_run(slug: str) -> ReportRun | None:
    done = ReportRun.objects.filter(report=slug, state=ReportRun.State.DONE)
    return done.first()  # the newest


def unlisted() -> list[Path]:
    """Files that nobody reads: drafts, and what was not listed any more."""
    listed = [place(file) for file in ArchiveFile.objects.all()]
    folders = {folder for path in listed for folder in run_folders(path)}
    return sorted(
        path
        for path in root().rglob("*")
        if path.is_file()
        and path not in set(listed)
        and not folders & set(run_folders(path))  # Spark's own notes beside its files
    )


def run_folders(path: Path) -> list[Path]:
    return [folder for folder in path.parents if folder.name.startswith("run-")]


def faults() -> Iterator[str]:
    """Sentences about what no crash may leave once a run has come to its end."""
    listed = Counter(ArchiveFile.objects.values_list("path", flat=True))
    for path, times in listed.items():
        if times > 1:
            yield f"{path} is listed {times} times."
        if not (root() / path).exists():
            yield f"{path} is listed and is not there."
    for file in unlisted():
        yield f"{file.relative_to(root())} is there and not listed."
    for window in ExportWindow.objects.filter(state=OPEN):
        yield f"Window {window.n} is still open."
    unended = ReportRow.objects.filter(run__isnull=False)
    for row in unended.exclude(run__state=ReportRun.State.DONE):
        yield f"{row} is of a run that is not done."


def differences(found: dict[str, Rows], expected: dict[str, Rows]) -> Iterator[str]:
    for table in sorted({*found, *expected}):
        lost = expected.get(table, Rows()) - found.get(table, Rows())
        more = found.get(table, Rows()) - expected.get(table, Rows())
        if lost or more:
            yield f"{table}: {lost.total()} rows are lost, {more.total()} are too many."
