"""The journal, copied: windows of it as Parquet files by day, listed when whole.

Beside the events of a window go the fields of the messages that were put in it.

A window goes over in three steps: its ends are written down; its events are copied to a
file for each day, under other names first; they are listed, and it is done. Who dies in
between leaves an open window, and the next run does it again: the same events into the
same files.

Never ``id > last``: rows of transactions that end late would be lost. Below
``pg_snapshot_xmin`` every transaction has ended, and no snapshot is held for longer
than one window takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.db import connection, transaction
from psycopg import pq as libpq
from psycopg.conninfo import make_conninfo

from broker.formats.error_fingerprint import fingerprint
from broker.queueing.journal import has_read
from dashboards import sql
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import message_fields
from dashboards.pipeline.manifest import (
    BRONZE,
    MESSAGES,
    Span,
    checksum,
    exclusive,
    harden,
    place,
    put_in_place_of,
    root,
)
from dashboards.reports.errors import ArchiveDamaged
from dashboards.spark import cpu_share

SPAN = 1_000_000  # transactions in one window, so that each is read in seconds
VERSION = 2  # of the columns of a file; sources.py has a reader for each
EVER = ("-infinity", "infinity")


class JournalEnd(NamedTuple):
    hi: int
    as_of: datetime
    lo: int


def export(tell: Callable[[float], None], span: int = SPAN) -> datetime:
    """Copy what the journal has that the archive has not.

    Args:
        tell: is told after each window how much is done, from 0 to 1.
        span: transactions in one window.

    Returns:
        The time up to which nothing is missing: now, or the start of the oldest
        transaction that was still writing.

    Raises:
        ArchiveBusy: somebody else does it.
    """
    with exclusive():
        if left := ExportWindow.objects.filter(state=ExportWindow.State.OPEN).first():
            close(left)
        hi, as_of, lo = JournalEnd(*sql.fetch_one("journal_end"))
        for start in range(lo, hi, span):
            window = open_window(start, min(start + span, hi))
            close(window)
            tell((window.hi - lo) / (hi - lo))
    return as_of


def file_of(file: ArchiveFile) -> Path:
    """Where a listed file is; copied again if it is not as it was written.

    Raises:
        ArchiveBusy: somebody else is copying.
        ArchiveDamaged: the journal does not have all of it any more.
    """
    if not place(file).exists() or checksum(place(file)) != file.checksum:
        with exclusive():
            recover(file)
    return place(file)


def is_there(file: ArchiveFile) -> bool:
    """Whether a listed file can be read, copied again if need be.

    Messages go long before the journal does, and then it. Fields that are lost for good
    are a gap, which reports tell, and no fault: their file is listed no more.

    Raises:
        ArchiveBusy: somebody else is copying.
        ArchiveDamaged: it has events, which are lost for good.
    """
    try:
        file_of(file)
    except ArchiveDamaged:
        if file.table != MESSAGES:
            raise
        put_in_place_of(ArchiveFile.objects.filter(pk=file.pk), [])
        return False
    return True


@transaction.atomic
def open_window(lo: int, hi: int) -> ExportWindow:
    """Write down what is about to be copied.

    This commit also flushes the end of every transaction below ``hi``, some of which
    may have ended without waiting for the disk: what is archived cannot be undone by
    a crash of the database.
    """
    last = ExportWindow.objects.order_by("n").last()
    n = last.n + 1 if last else 1
    return ExportWindow.objects.create(n=n, lo=lo, hi=hi)


def close(window: ExportWindow) -> None:
    """Copy an open window to its files, and list them."""
    files = copy(window)
    listed = ArchiveFile.objects.filter(table__in=COPIED, replaced_at__isnull=True)
    with transaction.atomic():
        put_in_place_of(listed.filter(window=window.n), files)
        ExportWindow.objects.filter(pk=window.pk).update(
            state=ExportWindow.State.DONE,
            rows=sum(file.rows for file in files if file.table == BRONZE),
        )
    has_read("reports", window.hi)


def copy(window: ExportWindow) -> list[ArchiveFile]:
    """Copy what a window has; each file is there whole or not at all."""
    return [file for table in COPIED for file in copy_table(table, window)]


def copy_table(table: str, window: ExportWindow) -> list[ArchiveFile]:
    rows = write(
        read(table, window.lo, window.hi, *EVER),
        lambda day: root() / table / str(day) / f"{window.n:06}.parquet",
    )
    return [
        ArchiveFile(
            table=table,
            day=day,
            last_day=day,
            version=COPIED[table].version,
            path=str(file.relative_to(root())),
            rows=count,
            checksum=checksum(file),
            lo=window.lo,
            hi=window.hi,
            window=window.n,
        )
        for day, (file, count) in sorted(rows.items())
    ]


def recover(file: ArchiveFile) -> None:
    """Copy again what a lost file had.

    Raises:
        ArchiveDamaged: the journal does not have all of it any more.
    """
    assert file.lo is not None
    assert file.hi is not None
    whole = Span(file.day, file.last_day)
    again = place(file).with_suffix(".again")
    bounds = (whole.begin.isoformat(), whole.end.isoformat())
    batches = read(file.table, file.lo, file.hi, *bounds)
    found = write(batches, lambda _: again, by_day=False)
    rows = sum(count for _, count in found.values())
    if rows != file.rows:
        again.unlink(missing_ok=True)
        raise ArchiveDamaged(file.path)
    again.rename(place(file))
    harden([place(file)])
    ArchiveFile.objects.filter(pk=file.pk).update(
        checksum=checksum(place(file)), version=COPIED[file.table].version
    )


def read(
    table: str, lo: int, hi: int, begin: str, end: str
) -> Generator[pa.RecordBatch]:
    """What the database has for a table between bounds, as the archive keeps it."""
    copied = COPIED[table]
    with adbc.connect(dsn(), autocommit=True) as journal, journal.cursor() as cursor:
        bounds = (str(lo), str(hi), begin, end)
        cursor.execute(sql.statement("bounds"), bounds)
        *_, backend = cursor.fetchall()[0]
        cpu_share.take_along(backend)
        cursor.execute(sql.statement(copied.statement))
        with cursor.fetch_record_batch() as batches:
            for batch in batches:
                yield copied.kept(batch)


def write(
    batches: Iterator[pa.RecordBatch],
    named: Callable[[date], Path],
    *,
    by_day: bool = True,
) -> dict[date, tuple[Path, int]]:
    """Write events to one file for each day, or all to one; where, and how many."""
    rows: dict[date, int] = {}
    writers: dict[date, pq.ParquetWriter] = {}
    with ExitStack() as open_files:
        for batch in batches:
            parts = split(batch) if by_day else [(date.min, batch)]
            for day, part in parts:
                if day not in writers:
                    draft = named(day).with_suffix(".draft")
                    draft.parent.mkdir(parents=True, exist_ok=True)
                    writers[day] = open_files.enter_context(
                        pq.ParquetWriter(draft, part.schema, compression="zstd")
                    )
                writers[day].write_batch(part)
                rows[day] = rows.get(day, 0) + part.num_rows
    files = {day: named(day) for day in writers}
    for file in files.values():
        draft = file.with_suffix(".draft")
        harden([draft])
        draft.rename(file)
    harden(files.values())
    return {day: (file, rows[day]) for day, file in files.items()}


def split(batch: pa.RecordBatch) -> Iterator[tuple[date, pa.RecordBatch]]:
    """The rows of a batch by day (UTC), each part in its order."""
    days = pc.cast(batch["at"], pa.date32(), safe=False)
    for day in pc.unique(days):
        yield day.as_py(), batch.filter(pc.equal(days, day))


def with_fingerprints(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same, with the group of each error that an event tells."""
    groups = [
        group_of(detail) if detail and '"error"' in detail else None
        for detail in batch["detail"].to_pylist()
    ]
    return batch.append_column("fingerprint", pa.array(groups, pa.string()))


def group_of(detail: str) -> str | None:
    error = json.loads(detail).get("error")
    return key_of(error) if isinstance(error, str) and error else None


@lru_cache(10_000)  # a message fails again and again of the same
def key_of(error: str) -> str:
    return fingerprint(error).key


def dsn() -> str:
    """Django's database in libpq's words, with everything that libpq knows of it."""
    known = {option.keyword.decode() for option in libpq.Conninfo.get_defaults()}
    parameters = connection.get_connection_params()
    return make_conninfo(
        **{name: value for name, value in parameters.items() if name in known}
    )


class Copied(NamedTuple):
    """A table that is copied window by window."""

    statement: str  # in dashboards/sql
    version: int
    kept: Callable[[pa.RecordBatch], pa.RecordBatch]  # a batch as its files have it


COPIED = {
    BRONZE: Copied("events_between", VERSION, with_fingerprints),
    MESSAGES: Copied("puts_between", message_fields.VERSION, message_fields.kept),
}
