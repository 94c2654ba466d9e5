"""The archive: windows of the journal as Parquet files, each listed when it is whole.

A window goes over in three steps: its ends are written down; its events are copied to a
file, under another name first; it is listed as done. Who dies in between leaves an open
window, and the next run does it again: the same events into the same file.

Never ``id > last``: rows of transactions that end late would be lost. Below
``pg_snapshot_xmin`` every transaction has ended, and no snapshot is held for longer
than one window takes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.conf import settings
from django.db import connection, transaction
from psycopg import pq as libpq
from psycopg.conninfo import make_conninfo

from broker.journal import has_read
from dashboards import sql
from dashboards.models import ExportWindow
from dashboards.reports import locks
from dashboards.reports.errors import ArchiveBusy, ArchiveDamaged

SPAN = 1_000_000  # transactions in one window, so that each is read in seconds


class JournalEnd(NamedTuple):
    hi: int
    as_of: datetime
    lo: int


class Written(NamedTuple):
    rows: int
    checksum: str
    first_at: datetime | None
    last_at: datetime | None


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


def file_of(window: ExportWindow) -> Path:
    """The file of a listed window; copied again if it is not as it was written.

    Raises:
        ArchiveBusy: somebody else is copying.
        ArchiveDamaged: the journal does not have all of it any more.
    """
    file = archive() / window.path
    if not file.exists() or checksum(file) != window.checksum:
        with exclusive():
            ExportWindow.objects.filter(pk=window.pk).update(
                state=ExportWindow.State.OPEN
            )
            close(window)
    return file


@contextmanager
def exclusive() -> Iterator[None]:
    with locks.attempted(locks.ARCHIVE) as held:
        if not held:
            raise ArchiveBusy
        yield


@transaction.atomic
def open_window(lo: int, hi: int) -> ExportWindow:
    """Write down what is about to be copied.

    This commit also flushes the end of every transaction below ``hi``, some of which
    may have ended without waiting for the disk: what is archived cannot be undone by
    a crash of the database.
    """
    last = ExportWindow.objects.order_by("n").last()
    n = last.n + 1 if last else 1
    return ExportWindow.objects.create(n=n, lo=lo, hi=hi, path=f"{n:06}.parquet")


def close(window: ExportWindow) -> None:
    """Copy an open window to its file, and list it.

    Raises:
        ArchiveDamaged: it was listed before, with other events; it stays listed so.
    """
    written = copy(archive() / window.path)
    is_same = window.rows in (None, written.rows)
    found = written._asdict() if is_same else {}
    ExportWindow.objects.filter(pk=window.pk).update(
        state=ExportWindow.State.DONE, **found
    )
    has_read("reports", window.hi)
    if not is_same:
        raise ArchiveDamaged(window.path)


def copy(file: Path) -> Written:
    """Copy the events of the open window; the file is there whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    with adbc.connect(dsn(), autocommit=True) as journal, journal.cursor() as cursor:
        cursor.execute(sql.statement("open_window"))
        with cursor.fetch_record_batch() as batches:
            written = write(batches, draft)
    draft.rename(file)
    flush(file.parent)
    return written


def write(batches: pa.RecordBatchReader, file: Path) -> Written:
    rows, times = 0, []
    with file.open("wb") as sink:
        with pq.ParquetWriter(sink, batches.schema, compression="zstd") as parquet:
            for batch in batches:
                parquet.write_batch(batch)
                rows += batch.num_rows
                times += pc.min_max(batch["at"]).as_py().values()
        sink.flush()
        os.fsync(sink.fileno())
    return Written(
        rows, checksum(file), min(times, default=None), max(times, default=None)
    )


def checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def flush(folder: Path) -> None:
    """Have the names in a folder on disk, not only the files."""
    entries = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entries)
    finally:
        os.close(entries)


def archive() -> Path:
    return Path(settings.VAR_DIR) / "reports" / "bronze"


def dsn() -> str:
    """Django's database in libpq's words, with everything that libpq knows of it."""
    known = {option.keyword.decode() for option in libpq.Conninfo.get_defaults()}
    parameters = connection.get_connection_params()
    return make_conninfo(
        **{name: value for name, value in parameters.items() if name in known}
    )
