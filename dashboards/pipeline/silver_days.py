"""Silver by day: find the days that must be built, build and publish them.

A day is built from its events and from the stays that were open at the end of the day
before. It is built again if a new window has events of it, if the day before was built
again, if a file is lost, or if ``silver.VERSION`` has changed; all later days follow.
Each day is published by one transaction, so a process that dies leaves consistent days,
and the next run continues there.
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

# Close to the start of a day or of the journal the order of events is not certain.
EDGE = timedelta(seconds=1)
EDGE_IDS = 1000
Around = Callable[[float, float], AbstractContextManager[None]]
KEPT = StorageLevel.MEMORY_AND_DISK


class WrittenDay(NamedTuple):
    """The files of a day that this run wrote, not published yet."""

    files: list[ArchiveFile]
    floor: int | None
    rows: int


def stale() -> list[date]:
    """The days to build, in order: the first that is out of date, and all later days
    that have events."""
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
    """Whether a published day is up to date."""
    return (
        one is not None
        and one.source == window
        and one.before == (before.version if before else None)
        and one.code == silver.VERSION
    )


def bring_up_to_date(
    spark: SparkSession, run_id: int, as_of: datetime, around: Around
) -> int:
    """Build and publish all days that are out of date; return how many.

    Args:
        spark: the session.
        run_id: the id of the run; it names the folders that the run writes.
        as_of: all events before this time are in the archive.
        around: a context manager around each day; it gets the shares of all days at
            which the day begins and ends.

    Raises:
        ArchiveBusy: another process writes to the archive.
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
    """Build and check a day in the folder of a run. It is not published yet."""
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
    if of_links:  # most brokers have no links
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
    """The number of entries in a day's events, and of those that links carried."""
    row = journal.selectExpr(
        f"coalesce(sum(n) FILTER (WHERE kind <> {events.CARRIED}), 0)",
        f"coalesce(sum(n) FILTER (WHERE kind = {events.CARRIED}), 0)",
    ).head()
    assert row
    return row[0], row[1]


def opened_before(spark: SparkSession, before: PublishedDay | None) -> DataFrame:
    """The stays that were open at the end of the day before."""
    if before is None:
        return spark.createDataFrame([], events.OPEN)
    span = Span(before.day, before.day)
    return sources.silver_of(spark, "open", span).drop("day")


def told_of(
    journal: DataFrame, before: DataFrame, **known: Any
) -> tuple[DataFrame, silver.Tally]:
    """A day's lines, computed once and kept while they are used, and their sums.

    ``persist`` would not do: Spark does not use the kept frame as an argument of SQL.
    """
    ordered = events.ordered(events.lines(journal, before))
    told = events.told(ordered).localCheckpoint(storageLevel=KEPT)
    found = silver.tally(told, **known)
    if found.broken:
        told = events.told(events.chained(ordered)).localCheckpoint(storageLevel=KEPT)
        found = silver.tally(told, **known)
    return told, found


def write(told: DataFrame, day: date, folder: Path) -> None:
    """Write a day's tables: deliveries, and stays partitioned by ``goes_on``."""
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
    """A writer for exactly the columns of a schema."""
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
    """The files that this run wrote, flushed to the disk; the caller lists them."""
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
    """Publish a day in one transaction; it replaces what was published before."""
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
