"""Silver by day: which days are to be made, and making and publishing one.

A day is made of its events and of what was open at the end of the day before. It is to
be made again if it got another window's events, if the day before was made again, if a
file is lost, or if this code has changed; and so are all days after it. Each is
published by one transaction, so that who dies in between leaves days that fit together,
and the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from django.db import transaction
from django.db.models import Max
from pyspark import StorageLevel
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dashboards.models import ArchiveFile, PublishedDay
from dashboards.pipeline import events, link_transfers, silver, sources
from dashboards.pipeline.manifest import (
    BRONZE,
    DAY,
    SILVER,
    Span,
    checksum,
    clear,
    current,
    exclusive,
    folder_name,
    harden,
    place,
    put_in_place_of,
    root,
    touching,
)
from dashboards.reports.quality import require_equal

# Beside the beginning of a day and of the journal nobody is sure what came first.
EDGE = timedelta(seconds=1)
EDGE_IDS = 1000
Around = Callable[[float, float], AbstractContextManager[None]]
KEPT = StorageLevel.MEMORY_AND_DISK


class WrittenDay(NamedTuple):
    """A day's files, where this run wrote them, and what is known of it."""

    files: list[ArchiveFile]
    floor: int | None
    rows: int


def stale() -> list[date]:
    """The days to be made, in order: the first that is not as it should be, and all
    after it that have events."""
    windows: dict[date, int] = {}
    for file in current(BRONZE):
        for back in range((file.last_day - file.day).days + 1):
            day = file.day + back * DAY
            windows[day] = max(windows.get(day, 0), file.window or 0)
    published = {one.day: one for one in PublishedDay.objects.filter(table=SILVER)}
    lost = {
        file.day
        for table in silver.SCHEMAS
        for file in current(table)
        if not place(file).exists()
    }
    before: PublishedDay | None = None
    for day in sorted(windows | published):
        one = published.get(day)
        if day in windows and (day in lost or not is_right(one, windows[day], before)):
            return [later for later in sorted(windows) if later >= day]
        before = one or before
    return []


def is_right(
    one: PublishedDay | None, window: int, before: PublishedDay | None
) -> bool:
    """Whether a published day is made of what there is."""
    return (
        one is not None
        and one.source == window
        and one.before == (before.version if before else None)
        and one.code == silver.VERSION
    )


def bring_up_to_date(
    spark: SparkSession, run_id: int, as_of: datetime, around: Around
) -> int:
    """Make the days that are to be made; return how many.

    Args:
        spark: the session.
        run_id: of the run that does it: nobody else writes under its name.
        as_of: everything that happened before is in the archive.
        around: each day is made within it, told from which share of all to which.

    Raises:
        ArchiveBusy: somebody else works on the archive.
        ArchiveDamaged, QualityBroken, VersionUnknown: the day is left as it was.
    """
    with exclusive():
        days = stale()
        for n, day in enumerate(days):
            with around(n / len(days), (n + 1) / len(days)):
                made = make(spark, day, run_id, as_of)
            publish(day, run_id, made)
    return len(days)


def last_before(day: date) -> PublishedDay | None:
    earlier = PublishedDay.objects.filter(table=SILVER, day__lt=day)
    return earlier.order_by("day").last()


def make(spark: SparkSession, day: date, run_id: int, as_of: datetime) -> WrittenDay:
    """Compute a day under the name of a run, and check it. Nobody sees it yet."""
    folder = folder_of(day, run_id)
    clear(folder)
    before = last_before(day)
    floor = before.floor if before else None
    journal = sources.events(spark, day)
    told, found = told_of(
        journal,
        opened_before(spark, before),
        floor=floor and floor + EDGE_IDS,
        from_s=(Span(day, day).begin + EDGE).timestamp(),
        to_s=as_of.timestamp(),
    )
    write(told, day, folder)
    entries, of_links = counted(journal)
    if of_links:  # most brokers have none
        write_transfers(journal, day, folder)
    files = gathered(day, folder)
    *rows, transfers = (
        sum(file.rows for file in files if file.table == table)
        for table in silver.SCHEMAS
    )
    silver.check(found, entries, *rows)
    require_equal("every transfer of a link is a row", transfers, of_links)
    known = [one for one in (floor, found.floor) if one is not None]
    return WrittenDay(files, min(known, default=None), found.lines)


def counted(journal: DataFrame) -> tuple[int, int]:
    """Entries of a day's events by their own count, and those that links carried."""
    row = journal.selectExpr(
        f"coalesce(sum(n) FILTER (WHERE kind <> {events.CARRIED}), 0)",
        f"coalesce(sum(n) FILTER (WHERE kind = {events.CARRIED}), 0)",
    ).head()
    assert row
    return row[0], row[1]


def opened_before(spark: SparkSession, before: PublishedDay | None) -> DataFrame:
    """What was open at the end of the day that another goes on from."""
    if before is None:
        return spark.createDataFrame([], events.OPEN)
    span = Span(before.day, before.day)
    return sources.silver_of(spark, "open", span).drop("day")


def told_of(
    journal: DataFrame, before: DataFrame, **known: Any
) -> tuple[DataFrame, silver.Tally]:
    """A day's lines, made once and kept as long as they are used, and what they add up
    to. (A frame that ``persist`` keeps is forgotten where it is an argument of SQL.)"""
    ordered = events.ordered(events.lines(journal, before))
    told = events.told(ordered).localCheckpoint(storageLevel=KEPT)
    found = silver.tally(told, **known)
    if found.broken:
        told = events.told(events.chained(ordered)).localCheckpoint(storageLevel=KEPT)
        found = silver.tally(told, **known)
    return told, found


def write(told: DataFrame, day: date, folder: Path) -> None:
    """Write a day's tables: deliveries, and stays, apart by whether they go on."""
    of_day = F.lit(day)
    ended = silver.deliveries(told).withColumn("day", of_day)
    save(ended, silver.DELIVERIES).parquet(f"{folder}/deliveries")
    stays = silver.with_parents(silver.stays(told), told).withColumn("day", of_day)
    goes_on = F.col("place").isNotNull()
    save(
        stays.withColumn("goes_on", goes_on), f"{silver.STAYS}, goes_on boolean"
    ).parquet(f"{folder}/stays")


def write_transfers(journal: DataFrame, day: date, folder: Path) -> None:
    found = link_transfers.transfers(journal).withColumn("day", F.lit(day))
    save(found, link_transfers.TRANSFERS).parquet(f"{folder}/transfers")


def save(frame: DataFrame, ddl: str) -> DataFrameWriter:
    """A writer of exactly the columns of a schema."""
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    cast = [F.col(one.name).cast(one.dataType) for one in schema]
    writer = frame.select(*cast).write.option("compression", "zstd")
    return writer.partitionBy("goes_on") if "goes_on" in ddl else writer


FOLDERS = {
    "deliveries": "deliveries",
    "lifelines": "stays/goes_on=false",
    "open": "stays/goes_on=true",
    "transfers": "transfers",
}


def gathered(day: date, folder: Path) -> list[ArchiveFile]:
    """What this run wrote, safely on the disk, to be listed."""
    found = [
        (table, file)
        for table, name in FOLDERS.items()
        for file in sorted((folder / name).glob("part-*.parquet"))
    ]
    harden(file for _, file in found)
    return [
        ArchiveFile(
            table=table,
            day=day,
            last_day=day,
            version=silver.VERSION,
            path=str(file.relative_to(root())),
            rows=pq.read_metadata(file).num_rows,
            checksum=checksum(file),
        )
        for table, file in found
    ]


@transaction.atomic
def publish(day: date, run_id: int, made: WrittenDay) -> None:
    """Put a day in the place of what was published of it, at once and whole."""
    before = last_before(day)
    source = touching(BRONZE, Span(day, day)).aggregate(n=Max("window"))["n"]
    old = ArchiveFile.objects.filter(
        table__in=list(silver.SCHEMAS), day=day, replaced_at__isnull=True
    )
    put_in_place_of(old, made.files)
    PublishedDay.objects.update_or_create(
        table=SILVER,
        day=day,
        defaults={
            "version": run_id,
            "source": source,
            "before": before.version if before else None,
            "floor": made.floor,
            "code": silver.VERSION,
            "rows": made.rows,
        },
    )


def folder_of(day: date, run_id: int) -> Path:
    return root() / SILVER / str(day) / folder_name(run_id)
