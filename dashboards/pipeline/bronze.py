"""Bronze: copy the journal to Parquet files, one for each day of a window.

A window is a range of transaction ids. With its events, the fields of the messages that
were put in it are copied.

Exporting a window has three steps: store its bounds; write its events to one draft file
for each day, and rename the drafts; list the files in the manifest and mark the window
as done. A process that dies in between leaves an open window. The next run exports it
again: the same events into the same files.

Windows are never chosen by ``id > last``: that would miss rows of transactions that
commit late. All transactions below ``pg_snapshot_xmin`` have ended. No snapshot is held
for longer than the export of one window takes. A window that takes longer than
``TIMEOUT`` is halved.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from adbc_driver_manager._reader import AdbcRecordBatchReader
from django.db import connection, transaction
from psycopg import pq as libpq
from psycopg.conninfo import make_conninfo

from broker.formats.error_fingerprint import fingerprint
from broker.queueing.journal import has_read
from dashboards import sql
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import message_fields
from dashboards.pipeline.day_files import write
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
VERSION = 2  # the version of a file's columns; sources.py has a reader for each version
EVER = ("-infinity", "infinity")
# Of a statement that copies a window. That of pages is shorter: a window of a busy
# journal needs more. A copy holds a snapshot; until it ends, tables of queues grow.
TIMEOUT = "5min"
NO_TIMEOUT = "0"
CANCELLED = "57014"  # SQLSTATE: by its timeout, or by an administrator


HALVED = (
    "The server cancelled the export of transactions %d to %d of the journal; they are"
    " exported %d at a time."
)

logger = logging.getLogger(__name__)


class JournalEnd(NamedTuple):
    hi: int
    as_of: datetime
    lo: int


def export(tell: Callable[[float], None], span: int = SPAN) -> datetime:
    """Copy all events to the archive that it does not have yet.

    Args:
        tell: called after each window with the share that is done, from 0 to 1.
        span: transactions in one window.

    Returns:
        The time up to which the archive is complete: now, or the start of the oldest
        transaction that is still writing.

    Raises:
        ArchiveBusy: another process writes to the archive.
    """
    with exclusive():
        if left := ExportWindow.objects.filter(state=ExportWindow.State.OPEN).first():
            span = min(span, close(left))
        hi, as_of, lo = JournalEnd(*sql.fetch_one("journal_end"))
        start = lo
        while start < hi:
            window = open_window(start, min(start + span, hi))
            span = min(span, close(window))
            start = window.hi
            tell((start - lo) / (hi - lo))
    return as_of


def file_of(file: ArchiveFile) -> Path:
    """The path of a listed file; it is copied again if missing or changed.

    Raises:
        ArchiveBusy: another process writes to the archive.
        ArchiveDamaged: the journal no longer has all of its events.
    """
    if not place(file).exists() or checksum(place(file)) != file.checksum:
        with exclusive():
            recover(file)
    return place(file)


def is_there(file: ArchiveFile) -> bool:
    """Whether a listed file can be read; it is copied again if necessary.

    Messages are deleted long before their journal events. If the fields of messages
    are lost for good, that is a gap that reports show, and not an error: their file
    is removed from the list.

    Raises:
        ArchiveBusy: another process writes to the archive.
        ArchiveDamaged: the file has events, and they are lost for good.
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
    """Store the bounds of the window that will be copied.

    This commit also flushes the commit records of all transactions below ``hi``; some
    of them may have committed asynchronously. So a crash of the database cannot lose
    events that are in the archive.
    """
    last = ExportWindow.objects.order_by("n").last()
    n = last.n + 1 if last else 1
    return ExportWindow.objects.create(n=n, lo=lo, hi=hi)


def close(window: ExportWindow) -> int:
    """Copy an open window to files, list them, and mark the window as done.

    A window that the server cancels is halved and copied again, so that the export
    makes progress.

    Returns:
        The most transactions that a further window of this export should have.
    """
    span = SPAN
    while (files := copied(window)) is None:
        span = halve(window)
    listed = ArchiveFile.objects.filter(table__in=COPIED, replaced_at__isnull=True)
    with transaction.atomic():
        put_in_place_of(listed.filter(window=window.n), files)
        ExportWindow.objects.filter(pk=window.pk).update(
            state=ExportWindow.State.DONE,
            rows=sum(file.rows for file in files if file.table == BRONZE),
        )
    has_read("reports", window.hi)
    return span


def copied(window: ExportWindow) -> list[ArchiveFile] | None:
    """The files of a window; None if the server cancelled and halving is possible."""
    try:
        return copy(window)
    except adbc_driver_manager.Error as error:
        if error.sqlstate != CANCELLED or is_single(window):
            raise
        return None


def is_single(window: ExportWindow) -> bool:
    return window.hi - window.lo == 1


def halve(window: ExportWindow) -> int:
    """Leave the second half of an open window to the next window; return the new span.

    Files of the whole window are removed; none of them is listed.
    """
    span = (window.hi - window.lo) // 2
    logger.warning(HALVED, window.lo, window.hi, span)
    window.hi = window.lo + span
    window.save(update_fields=["hi"])
    for table in COPIED:
        for file in root().glob(f"{table}/*/{window.n:06}.*"):
            file.unlink()
    return span


def copy(window: ExportWindow) -> list[ArchiveFile]:
    """Copy the rows of a window; each file is complete or does not exist."""
    return [file for table in COPIED for file in copy_table(table, window)]


def copy_table(table: str, window: ExportWindow) -> list[ArchiveFile]:
    """Copy the rows of one table in an export window.

    The caller halves a window whose query is cancelled by its time limit. A window of
    one transaction cannot be halved, so its query has no limit.
    """
    timeout = NO_TIMEOUT if is_single(window) else TIMEOUT
    rows = write(
        read(table, window.lo, window.hi, *EVER, timeout=timeout),
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
    """Copy the rows of a lost file again.

    Raises:
        ArchiveDamaged: the journal no longer has all of them.
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
    table: str, lo: int, hi: int, begin: str, end: str, *, timeout: str = NO_TIMEOUT
) -> Generator[pa.RecordBatch]:
    """Rows of a table between bounds, from the database, in the archive's format.

    Raises:
        adbc_driver_manager.Error: the server refused, or cancelled after the timeout.
    """
    one = COPIED[table]
    with adbc.connect(dsn(), autocommit=True) as journal, journal.cursor() as cursor:
        bounds = (str(lo), str(hi), begin, end, timeout)
        cursor.execute(sql.statement("bounds"), bounds)
        *_, backend = cursor.fetchall()[0]
        cpu_share.take_along(backend)
        cursor.execute(sql.statement(one.statement))
        with closing(batches_of(cursor)) as batches:
            for batch in batches:
                yield one.kept(batch)


def batches_of(cursor: adbc.Cursor) -> AdbcRecordBatchReader:
    """The result, read so that errors keep their SQLSTATE; pyarrow's reader, which
    ``fetch_record_batch`` returns, makes each an ``OSError``."""
    # the end of the stream releases what is not imported by then
    stream = cursor.fetch_arrow()
    return AdbcRecordBatchReader._import_from_c(stream.address)


def with_fingerprints(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with a column for the fingerprint of each event's error."""
    groups = [
        group_of(detail) if detail and '"error"' in detail else None
        for detail in batch["detail"].to_pylist()
    ]
    return batch.append_column("fingerprint", pa.array(groups, pa.string()))


def group_of(detail: str) -> str | None:
    error = json.loads(detail).get("error")
    return key_of(error) if isinstance(error, str) and error else None


@lru_cache(10_000)  # the attempts of a message often end with the same error
def key_of(error: str) -> str:
    return fingerprint(error).key


def dsn() -> str:
    """The connection string of Django's database, with all options of libpq."""
    known = {option.keyword.decode() for option in libpq.Conninfo.get_defaults()}
    parameters = connection.get_connection_params()
    return make_conninfo(
        **{name: value for name, value in parameters.items() if name in known}
    )


class Copied(NamedTuple):
    """A table that is copied window by window."""

    statement: str  # the name of the statement in dashboards/sql
    version: int
    # converts a batch of rows to the format of the files
    kept: Callable[[pa.RecordBatch], pa.RecordBatch]


COPIED = {
    BRONZE: Copied("events_between", VERSION, with_fingerprints),
    MESSAGES: Copied("puts_between", message_fields.VERSION, message_fields.kept),
}
