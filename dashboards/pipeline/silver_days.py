"""Silver by day: find the days that must be built, build and publish them.

A day is built from its events and from the stays that were open at the end of the day
before. It is built again if a new window has events of it, if those stays have
changed, if a file is lost, or if ``silver.VERSION`` has changed. Days that follow one
another are built together: that is cheaper, and gives the same rows. Each day is
published by one transaction, so a process that dies leaves consistent days, and the
next run continues there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from math import ceil
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from django.db import transaction
from django.db.models import Max, Sum
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dashboards.models import ArchiveFile, PublishedDay
from dashboards.pipeline import (
    events,
    link_transfers,
    silver,
    silver_rows,
    silver_tasks,
    sources,
)
from dashboards.pipeline.archive import (
    ArchivePath,
    clear,
    harden,
    moved,
    root,
    rows_in,
)
from dashboards.pipeline.manifest import (
    BRONZE,
    DAY,
    SILVER,
    Span,
    current,
    exclusive,
    folder_name,
    of_day,
    place,
    put_in_place_of,
    rows_of,
    touching,
)
from dashboards.pipeline.row_checksum import signed
from dashboards.pipeline.silver_tasks import by_part
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.quality import require_equal

# Of a message whose id is so close to the lowest id that was put, the journal may not
# have the put.
EDGE_IDS = 1000
# the most days, and events, that are built at once
TOGETHER, MOST_EVENTS = 7, 10_000_000
MOST_ROWS = 400_000  # about so many rows are in the memory of a task
FEW_ROWS = 20_000  # a part with fewer rows costs more than it saves
Around = Callable[[float, float], AbstractContextManager[None]]


class WrittenDay(NamedTuple):
    """The files of a day that this run wrote, not published yet."""

    files: list[ArchiveFile]
    floor: int | None
    rows: int
    opened: int  # the checksum of its open stays


class Batch(NamedTuple):
    """Days in a folder of a run, with what was observed while they were made."""

    days: list[date]
    folder: ArchivePath
    found: list[silver.Tally]  # the sums of each day
    opened: list[int]  # the checksum of the open stays of each day
    carried: int  # the number of stays that were open before the first day


def windows() -> dict[date, int]:
    """The newest window with events of a day, by day, in order."""
    found: dict[date, int] = {}
    for file in current(BRONZE):
        for back in range((file.last_day - file.day).days + 1):
            day = file.day + back * DAY
            found[day] = max(found.get(day, 0), file.window or 0)
    return dict(sorted(found.items()))


def stale() -> list[date]:
    """The days that are out of date, in order. A later day follows if the stays that
    are open before it change."""
    newest = windows()
    published = {one.day: one for one in PublishedDay.objects.filter(table=SILVER)}
    lost = {
        file.day
        for table in silver.SCHEMAS
        for file in current(table)
        if not place(file).exists()
    }
    before: PublishedDay | None = None
    found = []
    for day in sorted(newest | published):
        one = published.get(day)
        if day in newest and (
            day in lost or not is_right(one, newest[day]) or not follows(one, before)
        ):
            found.append(day)
        before = one or before
    return found


def is_right(one: PublishedDay | None, window: int) -> bool:
    """Whether a published day has all of its events."""
    return one is not None and one.source == window and one.code == silver.VERSION


def follows(one: PublishedDay | None, before: PublishedDay | None) -> bool:
    """Whether a published day was made from what is open before it now."""
    return one is not None and one.before == (before.opened if before else None)


def together(days: Sequence[date], most: int) -> list[date]:
    """Some days that are built in one statement.

    Args:
        days: that are out of date. If the first is so only because of the day before
            it, the days after it will be, too.
        most: as many at most.
    """
    newest = windows()
    one = PublishedDay.objects.filter(table=SILVER, day=days[0]).first()
    all_follow = is_right(one, newest[days[0]])
    some: list[date] = []
    events = 0
    for day in (day for day in newest if day >= days[0]):
        rows = touching(BRONZE, Span(day, day)).aggregate(rows=Sum("rows"))["rows"]
        events += rows or 0
        full = len(some) == most or events > MOST_EVENTS
        if some and (full or not (all_follow or day in days)):
            break
        some.append(day)
    return some


def bring_up_to_date(
    spark: SparkSession, run_id: int, as_of: datetime, around: Around
) -> int:
    """Build and publish all days that are out of date; return how many.

    Args:
        spark: the session.
        run_id: the id of the run; it names the folders that the run writes.
        as_of: all events before this time are in the archive.
        around: a context manager around days that are built together; it gets the
            shares of all days at which they begin and end.

    Raises:
        ArchiveBusy: another process writes to the archive.
        ArchiveDamaged, QualityBroken, VersionUnknown: the day is left as it was.
    """
    done, most = 0, TOGETHER
    with exclusive():
        while days := stale():
            some = together(days, most)
            every = done + max(len(some), len(days))
            with around(done / every, (done + len(some)) / every):
                batch = make(spark, some, run_id, as_of)
            if len(batch.days) < len(some):
                most = 1  # later days are built alone: their stays may overlap, too
            for n, day in enumerate(batch.days):
                publish(day, run_id, checked(batch, n, run_id))
            clear(batch.folder)
            done += len(batch.days)
    return done


def last_before(day: date) -> PublishedDay | None:
    return PublishedDay.objects.filter(table=SILVER, day__lt=day).order_by("day").last()


def make(spark: SparkSession, days: list[date], run_id: int, as_of: datetime) -> Batch:
    """Build days in the folder of a run. They are neither checked nor published yet.

    Only the first is built if a stay begins before the one before it has ended: then
    the days after it may differ if they are built together.
    """
    folder = root() / SILVER / "together" / folder_name(run_id)
    clear(folder)
    span = Span(days[0], days[-1])
    journal, before = sources.events(spark, span), last_before(days[0])
    carried = rows_of("open", [before.day]) if before else 0
    entries = sources.entries(span)
    parts = number_of_parts(spark, entries.total() + carried)
    told = tell(
        spark, journal, before, parts, silver_tasks.deliveries_task(folder, days, as_of)
    )
    if len(days) > 1 and pc.sum(told["overlaps"]).as_py():
        return make(spark, days[:1], run_id, as_of)
    opened = finish(spark, told, parts, silver_tasks.finished(folder))
    found = silver.summed(told["tallies"].to_pylist(), days, entries)
    if any(one.of_links for one in found):  # most brokers have no links
        write_transfers(journal, folder)
    return Batch(days, folder, found, [opened[day] for day in days], carried)


def number_of_parts(spark: SparkSession, rows: int) -> int:
    """Parts small enough for the memory of a process, and enough for all executors."""
    all_at_once = int(spark.conf.get(silver_tasks.PARTITIONS) or 1)
    return max(ceil(rows / MOST_ROWS), min(all_at_once, ceil(rows / FEW_ROWS)), 1)


def tell(
    spark: SparkSession,
    journal: DataFrame,
    before: PublishedDay | None,
    parts: int,
    task: silver_tasks.Task,
) -> pa.Table:
    """Make lines of the journal, and tables of the lines; all entries of a message
    are in the same part."""
    lines = events.lines(journal, opened_before(spark, before))
    lines = lines.withColumn("part", part_of("message_id", parts))
    return by_part(lines, parts, task, silver_tasks.TOLD)


def part_of(message_id: str, parts: int) -> Column:
    return F.pmod(F.xxhash64(message_id), F.lit(parts)).cast("int")


def finish(
    spark: SparkSession, told: pa.Table, parts: int, task: silver_tasks.Task
) -> Counter[date]:
    """Add the parents of messages to the stays; return the checksums of open stays."""
    copies = pa.Table.from_struct_array(told["copies"].combine_chunks().flatten())
    parents = spark.createDataFrame(silver_rows.parents(copies))
    known = parents.withColumn("part", part_of("copy", parts))
    every = spark.range(parts).select(F.col("id").cast("int").alias("part"))
    frame = known.unionByName(every, allowMissingColumns=True)
    opened: Counter[date] = Counter()
    for row in by_part(frame, parts, task, silver_tasks.OPENED).to_pylist():
        opened[row["day"]] = signed(opened[row["day"]] + row["opened"])
    return opened


def opened_before(spark: SparkSession, before: PublishedDay | None) -> DataFrame:
    """The stays that were open at the end of the day before."""
    if before is None:
        return spark.createDataFrame([], events.OPEN)
    return sources.silver_of(spark, "open", Span(before.day, before.day)).drop("day")


def write_transfers(journal: DataFrame, folder: ArchivePath) -> None:
    found = link_transfers.transfers(journal).withColumn("day", F.to_date("at"))
    columns = (one.split() for one in link_transfers.TRANSFERS.split(","))
    cast = (F.col(name).cast(type_) for name, type_ in columns)
    writer = found.select(*cast, F.col("day").alias("of")).write
    writer = writer.option("compression", "zstd").partitionBy("of")
    writer.parquet(f"{folder}/transfers")


def checked(batch: Batch, n: int, run_id: int) -> WrittenDay:
    """The n-th day of a batch, checked. Those before it are published."""
    day, found = batch.days[n], batch.found[n]
    files = gathered(batch, day, run_id)
    rows = {
        table: sum(file.rows for file in files if file.table == table)
        for table in silver.SCHEMAS
    }
    before = last_before(day)
    carried = batch.carried if n == 0 else rows_of("open", [batch.days[n - 1]])
    floor = before.floor if before else None
    silver.check(
        found,
        carried=carried,
        deliveries=rows["deliveries"],
        lifelines=rows["lifelines"],
        opened=rows["open"],
        floor=floor and floor + EDGE_IDS,
    )
    require_equal(
        gettext_noop("every transfer of a link is counted once"),
        rows["transfers"],
        found.of_links,
    )
    known = (one for one in (floor, found.floor) if one is not None)
    return WrittenDay(files, min(known, default=None), found.lines, batch.opened[n])


def gathered(batch: Batch, day: date, run_id: int) -> list[ArchiveFile]:
    """The files of a day, moved to a folder of its own and flushed to the disk; the
    caller lists them."""
    folder = folder_of(day, run_id)
    clear(folder)
    found = []
    for table in silver.SCHEMAS:
        made: ArchivePath = batch.folder / table / f"of={day}"
        drafts: Iterable[ArchivePath] = made.glob("part-*.parquet")
        for draft in sorted(drafts, key=str):
            file = folder / table / draft.name
            file.parent.mkdir(parents=True, exist_ok=True)
            found.append((table, moved(draft, file)))
    harden(file for _, file in found)
    return [
        of_day(table, day, file, version=silver.VERSION, rows=rows_in(file))
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
            "before": before.opened if before else None,
            "opened": made.opened,
            "floor": made.floor,
            "code": silver.VERSION,
            "rows": made.rows,
        },
    )


def folder_of(day: date, run_id: int) -> ArchivePath:
    return root() / SILVER / str(day) / folder_name(run_id)
