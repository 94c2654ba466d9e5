"""Data frames from the files that the manifest lists.

Folders on the disk are never read, because a crash may have left files there. Each
version of a file has its own reader, which returns the columns of the current version.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from django.db import models
from django.db.models import Max
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import silver
from dashboards.pipeline.archive import reader
from dashboards.pipeline.bronze import is_there
from dashboards.pipeline.events import CARRIED, EVENTS
from dashboards.pipeline.fields.message_fields import ADDED, FIELDS
from dashboards.pipeline.manifest import BRONZE, DAY, MESSAGES, Span, place, touching
from dashboards.reports.errors import FileLost, VersionUnknown

Reader = Callable[[SparkSession, list[str]], DataFrame]
COLUMNS = [one.split()[0] for one in EVENTS.split(",")]


def first_events(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Version 1: no fingerprints yet; each row also had a version."""
    written = EVENTS.replace(", fingerprint string", "")
    frame = spark.read.schema(written).parquet(*paths)
    return frame.withColumn("fingerprint", F.lit(None).cast("string"))


def second_events(spark: SparkSession, paths: list[str]) -> DataFrame:
    return spark.read.schema(EVENTS).parquet(*paths)


def first_fields(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Version 1: no fields of reports yet."""
    found = spark.read.schema(FIELDS.replace(ADDED, "")).parquet(*paths)
    nothing = F.lit(None).cast("bigint")
    return found.withColumns({"report": nothing, "feedback": nothing})


def second_fields(spark: SparkSession, paths: list[str]) -> DataFrame:
    return spark.read.schema(FIELDS).parquet(*paths)


EVENT_READERS: Mapping[int, Reader] = {1: first_events, 2: second_events}
FIELD_READERS: Mapping[int, Reader] = {1: first_fields, 2: second_fields}
# For a period, also the fields of messages that were put so long before it are read.
PUT_BEFORE = 7 * DAY


def last_window() -> int:
    """The number of the newest exported window; 0 if there is none."""
    done = ExportWindow.objects.filter(state=ExportWindow.State.DONE)
    return done.aggregate(n=Max("n"))["n"] or 0


def events(spark: SparkSession, span: Span) -> DataFrame:
    """The journal of some days, as rows of ``events.EVENTS``.

    Raises:
        ArchiveDamaged: a file is lost for good.
        VersionUnknown: this code cannot read a file's version.
    """
    files = touching(BRONZE, span)
    # these files also have rows of other days
    wide = files.filter(last_day__gt=models.F("day"))
    found = read(spark, files.filter(last_day=models.F("day")), EVENT_READERS, EVENTS)
    if not wide:
        return found
    at = F.col("at")
    rows = read(spark, wide, EVENT_READERS, EVENTS)
    return found.unionByName(
        rows.where((at >= F.lit(span.begin)) & (at < F.lit(span.end)))
    )


def entries(span: Span) -> Counter[tuple[date, bool]]:
    """The entries that the events of some days count, by day, and by whether links
    carried them. All files must be there: ``events`` sees to it."""
    found: Counter[tuple[date, bool]] = Counter()
    for file in touching(BRONZE, span):
        with reader(place(file)) as content:
            rows = content.read(["at", "kind", "n"])
        of_day = pa.table(
            {
                "day": pc.cast(rows["at"], pa.date32(), safe=False),
                "of_link": pc.equal(rows["kind"], CARRIED),
                "n": rows["n"],
            }
        )
        sums = of_day.group_by(["day", "of_link"]).aggregate([("n", "sum")])
        for one in sums.to_pylist():
            if span.first <= one["day"] <= span.last:
                found[one["day"], one["of_link"]] += one["n_sum"]
    return found


def messages(spark: SparkSession, span: Span) -> DataFrame:
    """The fields of messages that were put on some days or in the week before, as rows
    of ``message_fields.FIELDS``; without lost files.

    Raises:
        ArchiveBusy: a file must be copied again, and another process writes to the
            archive.
        VersionUnknown: this code cannot read a file's version.
    """
    first = max(span.first, date.min + PUT_BEFORE) - PUT_BEFORE
    files = touching(MESSAGES, Span(first, span.last))
    return read(spark, files, FIELD_READERS, FIELDS)


def read(
    spark: SparkSession,
    files: Iterable[ArchiveFile],
    readers: Mapping[int, Reader],
    schema: str,
) -> DataFrame:
    """All rows of files, each file read by the reader of its version."""
    paths: dict[int, list[str]] = defaultdict(list)
    for file in files:
        if file.version not in readers:
            raise VersionUnknown(file.path, file.version)
        if is_there(file):
            paths[file.version].append(str(place(file)))
    found = [readers[version](spark, some) for version, some in paths.items()]
    return reduce(DataFrame.unionByName, found) if found else nothing(spark, schema)


def nothing(spark: SparkSession, schema: str) -> DataFrame:
    """No rows. Spark knows that there are none, and does no work for them."""
    row = F.lit(None).cast(DataType.fromDDL(schema)).alias("row")
    return spark.range(0).where("false").select(row).select("row.*")


def table_of(spark: SparkSession, table: str, span: Span) -> DataFrame:
    """An input of reports for some days.

    Raises:
        ArchiveBusy, FileLost, VersionUnknown: a sentence for people.
    """
    if table == MESSAGES:
        return messages(spark, span)
    return silver_of(spark, table, span)


def silver_of(spark: SparkSession, table: str, span: Span) -> DataFrame:
    """A table of silver for some days, with the columns of ``silver.SCHEMAS``.

    Raises:
        FileLost: a file is missing; the next run builds it again.
        VersionUnknown: this code cannot read a file's version.
    """
    files = list(touching(table, span))
    for file in files:
        require_readable(file)
    schema = silver.SCHEMAS[table]
    if not files:
        return nothing(spark, schema)
    return spark.read.schema(schema).parquet(*(str(place(file)) for file in files))


def require_readable(file: ArchiveFile) -> None:
    if file.version != silver.VERSION:
        raise VersionUnknown(file.path, file.version)
    if not place(file).exists():
        raise FileLost(file.path)
