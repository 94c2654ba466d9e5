"""Tasks of Spark that make silver, from all lines of some messages at a time.

They need no settings of Django: an executor may be on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from dashboards.pipeline import silver, silver_rows
from dashboards.pipeline.archive import ArchivePath, moved, reader, writer
from dashboards.pipeline.events import OPEN, arrow_schema
from dashboards.pipeline.row_checksum import checksum
from dashboards.pipeline.timelines import timelines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Task = Callable[[pa.Table], pa.Table]
SUMS = [name for name in silver.Tally._fields if name not in ("entries", "of_links")]
TOLD = f"""
    tallies array<struct<{", ".join(f"{name}: bigint" for name in SUMS)}>>,
    overlaps bigint, copies array<struct<{
    ", ".join(
        f"`{one.split()[0]}`: {one.split()[1]}"
        for one in silver_rows.COPIES_DDL.split(",")
    )
}>>
"""
PARTITIONS = "spark.sql.shuffle.partitions"
OPENED = "day date, opened bigint"
STATE = arrow_schema(OPEN).names  # columns of open stays, on which later days depend


def by_part(frame: DataFrame, parts: int, task: Task, ddl: str) -> pa.Table:
    """The results of a task that gets all rows of a frame with the same ``part``.

    Args:
        frame: has a column ``part``, from 0.
        parts: how many there are; few share a partition, so that Spark can sort each
            partition in memory.
        task: runs in processes of Spark.
        ddl: the columns of its results.
    """
    from pyspark.sql.functions import arrow_udtf  # noqa: PLC0415  not for executors

    class Part:
        def __init__(self) -> None:
            self.batches: list[pa.RecordBatch] = []

        def eval(self, batch: pa.RecordBatch) -> None:
            self.batches.append(batch)

        def terminate(self) -> Iterator[pa.Table]:
            if self.batches:  # Spark also calls this for a partition without rows
                yield task(pa.Table.from_batches(self.batches))

    function: Any = arrow_udtf(Part, returnType=ddl)
    conf = frame.sparkSession.conf
    usual = conf.get(PARTITIONS) or "200"
    conf.set(PARTITIONS, str(4 * parts))
    try:
        return function(frame.asTable().partitionBy("part")).toArrow()
    finally:
        conf.set(PARTITIONS, usual)


def deliveries_task(folder: ArchivePath, days: Sequence[date], as_of: datetime) -> Task:
    """Writes deliveries, and drafts of stays; returns what ``TOLD`` names."""

    def task(lines: pa.Table) -> pa.Table:
        part = lines["part"][0].as_py()
        found = timelines(lines.drop_columns("part"))
        write(folder / "deliveries", part, silver_rows.deliveries(found))
        save(draft(folder, part), silver_rows.stays(found, days))
        tallies = silver_rows.tallies(found, days, as_of)
        overlap = pc.and_(pc.equal(found.came, 0), pc.not_equal(found.came_before, 0))
        copies = silver_rows.copies(found)
        return pa.table(
            {
                "tallies": [[one._asdict() for one in tallies]],
                "overlaps": [silver_rows.count(overlap)],
                "copies": pa.ListArray.from_arrays(
                    [0, copies.num_rows], copies.to_struct_array().combine_chunks()
                ),
            }
        )

    return task


def finished(folder: ArchivePath) -> Task:
    """Writes the stays of a part from their draft and the parents of its messages;
    returns the checksums of the stays that go on, as ``OPENED``."""

    def task(parents: pa.Table) -> pa.Table:
        part = parents["part"][0].as_py()
        known = parents.filter(pc.is_valid(parents["copy"]))
        stays = silver_rows.with_parents(drafts(draft(folder, part)), known)
        is_open = pc.is_valid(stays["place"])
        write(folder / "lifelines", part, stays.filter(pc.invert(is_open)))
        opened = stays.filter(is_open)
        write(folder / "open", part, opened)
        sums = {day: checksum(rows.select(STATE)) for day, rows in by_day(opened)}
        return pa.table(
            {
                "day": pa.array(list(sums), pa.date32()),
                "opened": pa.array(sums.values(), pa.int64()),
            }
        )

    return task


def draft(folder: ArchivePath, part: int) -> ArchivePath:
    return folder / "drafts" / f"{part}.parquet"


def drafts(file: ArchivePath) -> pa.Table:
    """The drafts of a part; it has no file if it has no messages."""
    if not file.exists():
        return silver_rows.DRAFTS.empty_table()
    with reader(file) as content:
        return content.read()


def write(folder: ArchivePath, part: int, rows: pa.Table) -> None:
    """Write rows by day."""
    for day, some in by_day(rows):
        save(folder / f"of={day}" / f"part-{part:05}.parquet", some)


def by_day(rows: pa.Table) -> Iterator[tuple[date, pa.Table]]:
    for day in pc.unique(rows["day"]):
        yield day.as_py(), rows.filter(pc.equal(rows["day"], day))


def save(file: ArchivePath, rows: pa.Table) -> None:
    """Write a file. A task may run twice: each writes its own, and the last counts."""
    new = file.with_suffix(f".{uuid4()}")
    with writer(new, rows.schema) as content:
        content.write_table(rows)
    moved(new, file)
