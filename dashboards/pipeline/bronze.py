"""Bronze: copy the journal to Parquet files, one for each day of a window.

A window is a range of transaction ids, with at most ``MOST`` events. With its events,
the fields of the messages that were put in it are copied.

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

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

import adbc_driver_manager
import pyarrow as pa
import pyarrow.compute as pc
from django.db import transaction

from broker.queueing.journal import has_read
from dashboards import sql
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline.archive import (
    ArchivePath,
    checksum,
    harden,
    moved,
    root,
)
from dashboards.pipeline.day_files import write
from dashboards.pipeline.fields import event_fields, message_fields
from dashboards.pipeline.fields.event_fields import Puts, events
from dashboards.pipeline.fields.message_fields import messages
from dashboards.pipeline.fields.rows import NO_TIMEOUT, Bounds, rows_of
from dashboards.pipeline.manifest import (
    BRONZE,
    MESSAGES,
    Span,
    exclusive,
    of_day,
    place,
    put_in_place_of,
)
from dashboards.reports.errors import ArchiveDamaged

MOST = 2_000_000  # the most events in one window, so that a window is read in seconds
VERSIONS = {BRONZE: event_fields.VERSION, MESSAGES: message_fields.VERSION}
# The longest time of a statement that copies a window. The limit for pages would be too
# short for a window of a busy journal. There is a limit, because tables of queues grow
# while the statement holds its snapshot.
TIMEOUT = "5min"
CANCELLED = "57014"  # SQLSTATE of a statement that its timeout or a user cancelled


HALVED = (
    "The server cancelled the export of transactions %d to %d of the journal; the first"
    " %d of them are exported now."
)

logger = logging.getLogger(__name__)


class JournalEnd(NamedTuple):
    hi: int
    as_of: datetime
    lo: int


def export(tell: Callable[[float], None], most: int = MOST) -> datetime:
    """Copy all events to the archive that it does not have yet.

    Args:
        tell: called after each window with the share that is done, from 0 to 1.
        most: events in one window, unless one transaction has more.

    Returns:
        The time up to which the archive is complete: now, or the start of the oldest
        transaction that is still writing.

    Raises:
        ArchiveBusy: another process writes to the archive.
    """
    with exclusive():
        if left := ExportWindow.objects.filter(state=ExportWindow.State.OPEN).first():
            close(left)
        hi, as_of, lo = JournalEnd(*sql.fetch_one("journal_end"))
        start, reach = lo, most
        while start < hi:
            end = window_end(start, min(start + reach, hi), most)
            window = open_window(start, end)
            was_halved = close(window)
            # The next window has at most twice as many transactions as this one; after
            # a halving, at most as many.
            reach = (window.hi - start) * (1 if was_halved else 2)
            start = window.hi
            tell((start - lo) / (hi - lo))
    return as_of


def file_of(file: ArchiveFile) -> ArchivePath:
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


def window_end(lo: int, hi: int, most: int) -> int:
    """The end of the next window: at most ``hi``, at least one transaction, and with
    at most ``most`` events where it has more than one."""
    while hi - lo > 1:
        ends, events = counted(lo, hi)
        fitting = bisect_right(events, most)
        if fitting:
            return ends[fitting - 1]
        hi = ends[0]
    return hi


def counted(lo: int, hi: int) -> tuple[list[int], list[int]]:
    """The events of a range of transactions, added up to some ends; ``hi`` is one."""
    batches = list(rows_of("events_counted", Bounds(lo, hi)))
    found = pa.Table.from_batches(batches)
    return found["upto"].to_pylist(), pc.cumulative_sum(found["events"]).to_pylist()


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


def close(window: ExportWindow) -> bool:
    """Copy an open window to files, list them, and mark the window as done.

    A window that the server cancels is halved and copied again, so that the export
    makes progress.

    Returns:
        Whether it was halved.
    """
    was_halved = False
    while (files := copied(window)) is None:
        halve(window)
        was_halved = True
    listed = ArchiveFile.objects.filter(table__in=VERSIONS, replaced_at__isnull=True)
    with transaction.atomic():
        put_in_place_of(listed.filter(window=window.n), files)
        ExportWindow.objects.filter(pk=window.pk).update(
            state=ExportWindow.State.DONE,
            rows=sum(file.rows for file in files if file.table == BRONZE),
        )
    has_read("reports", window.hi)
    return was_halved


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


def halve(window: ExportWindow) -> None:
    """Leave the second half of an open window to the next window.

    Files of the whole window are removed; none of them is listed.
    """
    span = (window.hi - window.lo) // 2
    logger.warning(HALVED, window.lo, window.hi, span)
    window.hi = window.lo + span
    window.save(update_fields=["hi"])
    for table in VERSIONS:
        for file in root().glob(f"{table}/*/{window.n:06}.*"):
            file.unlink()


def copy(window: ExportWindow) -> list[ArchiveFile]:
    """Copy the rows of a window; each file is complete or does not exist."""
    puts = Puts()
    copied_events = copy_events(window, puts)
    rows = messages(puts.of(), timeout_of(window))
    return [*copied_events, *files_of(MESSAGES, window, rows)]


def copy_events(window: ExportWindow, puts: Puts) -> list[ArchiveFile]:
    bounds = Bounds(window.lo, window.hi, timeout=timeout_of(window))
    return files_of(BRONZE, window, puts.noted(events(bounds)))


def timeout_of(window: ExportWindow) -> str:
    """The limit of each statement of a window.

    The caller halves a window whose statement is cancelled by it. A window of one
    transaction cannot be halved, so its statements have no limit.
    """
    return NO_TIMEOUT if is_single(window) else TIMEOUT


def files_of(
    table: str, window: ExportWindow, rows: Iterator[pa.RecordBatch]
) -> list[ArchiveFile]:
    """Write the rows of a window to one file for each day."""
    written = write(
        rows, lambda day: root() / table / str(day) / f"{window.n:06}.parquet"
    )
    return [
        of_day(
            table,
            day,
            file,
            version=VERSIONS[table],
            rows=count,
            lo=window.lo,
            hi=window.hi,
            window=window.n,
        )
        for day, (file, count) in sorted(written.items())
    ]


def recover(file: ArchiveFile) -> None:
    """Copy the rows of a lost file again.

    Raises:
        ArchiveDamaged: the journal no longer has all of them.
    """
    again = place(file).with_suffix(".again")
    found = write(rows_again(file), lambda _: again, by_day=False)
    rows = sum(count for _, count in found.values())
    if rows != file.rows:
        again.unlink(missing_ok=True)
        raise ArchiveDamaged(file.path)
    moved(again, place(file))
    harden([place(file)])
    ArchiveFile.objects.filter(pk=file.pk).update(
        checksum=checksum(place(file)), version=VERSIONS[file.table]
    )


def rows_again(file: ArchiveFile) -> Iterator[pa.RecordBatch]:
    """The rows of a listed file, from the database."""
    assert file.lo is not None
    assert file.hi is not None
    window, days = Bounds(file.lo, file.hi), Span(file.day, file.last_day)
    if file.table == BRONZE:
        begin, end = days.begin.isoformat(), days.end.isoformat()
        return events(window._replace(begin=begin, end=end))
    puts = Puts()
    for _ in puts.noted(events(window)):
        pass  # only ``puts`` is needed: the events are in other files
    return messages(puts.of(days), NO_TIMEOUT)
