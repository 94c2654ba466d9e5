"""The list of files, in PostgreSQL: what is read is listed, and whole.

Files never change. One takes the place of another in one transaction; the other stays
on the disk for a while, for whoever reads it just now, and is swept away then. What a
crash leaves on the disk was never listed, and is nobody's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from dashboards.models import ArchiveFile, ReportRun
from dashboards.pipeline import locks
from dashboards.reports.errors import ArchiveBusy

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
MESSAGES = "messages"  # copied beside the journal: the fields of what was put
OF_WINDOWS = BRONZE, MESSAGES  # whose files hold what windows have
GRACE = timedelta(hours=1)  # longer than anybody reads one file
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


def root() -> Path:
    return Path(settings.VAR_DIR) / "reports"


def place(file: ArchiveFile) -> Path:
    return root() / file.path


def current(table: str) -> QuerySet[ArchiveFile]:
    """The listed files of a table that nothing has taken the place of."""
    return ArchiveFile.objects.filter(table=table, replaced_at__isnull=True)


def touching(table: str, span: Span) -> QuerySet[ArchiveFile]:
    """Those of them that may hold something of some days."""
    return current(table).filter(day__lte=span.last, last_day__gte=span.first)


@contextmanager
def exclusive() -> Iterator[None]:
    """Be the only one who adds to the archive, or takes from it.

    Raises:
        ArchiveBusy: somebody else is.
    """
    with locks.attempted(locks.ARCHIVE) as held:
        if not held:
            raise ArchiveBusy
        yield


@transaction.atomic
def put_in_place_of(
    old: QuerySet[ArchiveFile], new: Sequence[ArchiveFile]
) -> Sequence[ArchiveFile]:
    """List files, and others no more; the caller's transaction, if it has one."""
    old.update(replaced_at=Now())
    return ArchiveFile.objects.bulk_create(new)


def sweep(grace: timedelta = GRACE) -> int:
    """Delete files that others took the place of, and what dead runs left; how many.

    Whoever calls it is the only one who adds to bronze or silver.
    """
    gone = ArchiveFile.objects.filter(replaced_at__lt=Now() - grace)
    files = list(gone)
    for file in files:
        place(file).unlink(missing_ok=True)
    gone.filter(pk__in=[file.pk for file in files]).delete()
    return len(files) + sum(map(clear, left_by_dead_runs()))


def left_by_dead_runs() -> Iterator[Path]:
    """What is not listed and never will be: drafts, and what a run wrote that died.

    Found first, listed last: what a run lists meanwhile is not taken for left.
    """
    found = [
        *(file for table in OF_WINDOWS for file in root().glob(f"{table}/*/*")),
        *root().glob(f"{SILVER}/*/run-*"),
        *root().glob(f"{GOLD}/*/*/*"),
    ]
    running = ReportRun.objects.filter(state=ReportRun.State.RUNNING)
    pks = running.values_list("pk", flat=True)
    living = {folder_name(pk) for pk in pks if locks.is_held(pk)}
    paths = map(Path, ArchiveFile.objects.values_list("path", flat=True))
    listed = {root() / one for path in paths for one in (path, *path.parents)}
    return (one for one in found if one not in listed and one.stem not in living)


def folder_name(run_id: int) -> str:
    return f"run-{run_id}"


def clear(left: Path) -> int:
    """Delete a file, or a folder that nobody else writes to; whether it was there."""
    was_there = left.exists()
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)
    return int(was_there)


def checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def harden(files: Iterable[Path]) -> None:
    """Have files on disk, and their names."""
    named = list(files)
    for path in [*named, *{path.parent for path in named}]:
        entry = os.open(path, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)
