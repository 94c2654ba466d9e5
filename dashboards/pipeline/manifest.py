"""The manifest: the list of archive files, in PostgreSQL. Only listed files are read.

Files never change. One transaction replaces a file by another; the old file stays on
the disk for ``GRACE``, for processes that still read it, and is then deleted. Files
that a crash left on the disk were never listed, and are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Now

from dashboards.models import ArchiveFile, ReportRun
from dashboards.pipeline import locks
from dashboards.pipeline.archive import ArchivePath, checksum, clear, relative, root
from dashboards.reports.errors import ArchiveBusy

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
MESSAGES = "messages"  # copied with the journal: the fields of messages that were put
OF_WINDOWS = BRONZE, MESSAGES  # tables that are copied window by window
GRACE = timedelta(hours=1)  # longer than the reading of a file takes
DAY = timedelta(days=1)


class Span(NamedTuple):
    """Whole days (UTC), both included."""

    first: date
    last: date

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        return datetime.combine(self.last + DAY, time(), UTC)


def place(file: ArchiveFile) -> ArchivePath:
    return root() / file.path


def of_day(table: str, day: date, file: ArchivePath, **about: Any) -> ArchiveFile:
    """A new file with rows of one day, not listed yet.

    Args:
        about: its version, its number of rows, and more fields of ``ArchiveFile``.
    """
    return ArchiveFile(
        table=table,
        day=day,
        last_day=day,
        path=relative(file),
        checksum=checksum(file),
        **about,
    )


def current(table: str) -> QuerySet[ArchiveFile]:
    """The listed files of a table that have not been replaced."""
    return ArchiveFile.objects.filter(table=table, replaced_at__isnull=True)


def touching(table: str, span: Span) -> QuerySet[ArchiveFile]:
    """The current files of a table that may have rows of these days."""
    return current(table).filter(day__lte=span.last, last_day__gte=span.first)


def rows_of(table: str, days: Iterable[date]) -> int:
    """The number of rows of some days that are listed."""
    files = current(table).filter(day__in=list(days))
    return files.aggregate(rows=Sum("rows"))["rows"] or 0


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold the lock of the archive: no other process writes to it.

    Raises:
        ArchiveBusy: another process holds it.
    """
    with locks.attempted(locks.ARCHIVE) as held:
        if not held:
            raise ArchiveBusy
        yield


@transaction.atomic
def put_in_place_of(
    old: QuerySet[ArchiveFile], new: Sequence[ArchiveFile]
) -> Sequence[ArchiveFile]:
    """Replace listed files by others, in the caller's transaction if there is one."""
    old.update(replaced_at=Now())
    return ArchiveFile.objects.bulk_create(new)


def sweep(grace: timedelta = GRACE) -> int:
    """Delete replaced files and the leftovers of dead runs; return how many.

    The caller holds the lock of the archive (``exclusive``).
    """
    gone = ArchiveFile.objects.filter(replaced_at__lt=Now() - grace)
    files = list(gone)
    for file in files:
        place(file).unlink(missing_ok=True)
    gone.filter(pk__in=[file.pk for file in files]).delete()
    return len(files) + sum(map(clear, left_by_dead_runs()))


def left_by_dead_runs() -> Iterator[ArchivePath]:
    """Files that are not listed and never will be: drafts, and files of dead runs.

    The disk is read first and the list last, so files that a run lists meanwhile are
    not taken for leftovers.
    """
    found: list[ArchivePath] = [
        *(file for table in OF_WINDOWS for file in root().glob(f"{table}/*/*")),
        *root().glob(f"{SILVER}/*/run-*"),
        *root().glob(f"{GOLD}/*/*/*"),
    ]
    running = ReportRun.objects.filter(state=ReportRun.State.RUNNING)
    pks = running.values_list("pk", flat=True)
    living = {folder_name(pk) for pk in pks if locks.is_held(pk)}
    paths = map(PurePosixPath, ArchiveFile.objects.values_list("path", flat=True))
    listed = {root() / one for path in paths for one in (path, *path.parents)}
    return (one for one in found if one not in listed and one.stem not in living)


def folder_name(run_id: int) -> str:
    return f"run-{run_id}"
