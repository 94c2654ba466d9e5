"""Compaction: merge the files of each past day, and delete data past its retention."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pyarrow as pa
from django.db import transaction
from django.db.models import Count, F, Max

from dashboards.models import ArchiveFile, PublishedDay, ReportRow
from dashboards.pipeline.archive import reader, root
from dashboards.pipeline.bronze import VERSIONS, file_of, is_there
from dashboards.pipeline.day_files import write
from dashboards.pipeline.manifest import (
    DAY,
    SILVER,
    current,
    exclusive,
    of_day,
    put_in_place_of,
    sweep,
)
from dashboards.reports import discover


def keep_small(as_of: datetime, keep_days: int) -> None:
    """Compact past days, drop data past its retention, delete replaced files.

    Args:
        as_of: the time up to which the archive is complete.
        keep_days: days for which the archive is kept.

    Raises:
        ArchiveBusy: another process writes to the archive.
    """
    with exclusive():
        today = as_of.date()
        for table in VERSIONS:
            for day in in_pieces(table, today):
                compact(table, day)
        drop_before(today - timedelta(days=keep_days))
        drop_rows(today)
        sweep()


def in_pieces(table: str, today: date) -> list[date]:
    """Past days with more than one file that has only rows of that day."""
    own = current(table).filter(
        day=F("last_day"), day__lt=today, version=VERSIONS[table]
    )  # files of older versions are not merged; they are few
    found = own.order_by("day").values("day").annotate(files=Count("pk"))
    return [row["day"] for row in found if row["files"] > 1]


def compact(table: str, day: date) -> ArchiveFile | None:
    """Merge the files of a day; None if none of them can be read."""
    version = VERSIONS[table]
    own = current(table).filter(day=day, last_day=day, version=version)
    pieces = [piece for piece in own.order_by("lo") if is_there(piece)]
    if not pieces:
        return None
    newest = max(piece.window or 0 for piece in pieces)
    name = root() / table / str(day) / f"through-{newest:06}.parquet"
    _, (file, rows) = write(batches(pieces), lambda _: name, by_day=False).popitem()
    whole = of_day(
        table,
        day,
        file,
        version=version,
        rows=rows,
        lo=min(piece.lo or 0 for piece in pieces),
        hi=max(piece.hi or 0 for piece in pieces),
        window=newest,
    )
    old = ArchiveFile.objects.filter(pk__in=[piece.pk for piece in pieces])
    put_in_place_of(old, [whole])
    return whole


def batches(pieces: list[ArchiveFile]) -> Iterator[pa.RecordBatch]:
    """The rows of all pieces, in the order of the windows."""
    for piece in pieces:
        with reader(file_of(piece)) as file:
            yield from file.iter_batches()


@transaction.atomic
def drop_before(first: date) -> None:
    """Remove the files and the publication records of all days before ``first``.

    The last day of silver before it stays, because the next day starts from its open
    stays; its events are removed. Rows that pages show have their own retention, see
    ``drop_rows``.
    """
    silver = PublishedDay.objects.filter(table=SILVER, day__lt=first)
    last = silver.aggregate(day=Max("day"))["day"] or first
    files = ArchiveFile.objects.filter(replaced_at__isnull=True)
    put_in_place_of(files.filter(table__in=VERSIONS, last_day__lt=first), [])
    put_in_place_of(files.filter(last_day__lt=last), [])
    PublishedDay.objects.filter(day__lt=last).delete()


def drop_rows(today: date) -> None:
    """Delete rows of reports that are past the retention of their report."""
    for about in discover().values():
        first = today - about.keep_days * DAY
        ReportRow.objects.filter(report=about.slug, day__lt=first).delete()
