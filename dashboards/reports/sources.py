"""Where frames come from: the files that the archive lists, and no others.

Folders are never listed: what a crash left there is nobody's.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from django.db.models import Max, Min
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dashboards.models import ExportWindow
from dashboards.reports.bronze import file_of
from dashboards.reports.quality import require_equal

SCHEMA_VERSION = 1  # another one gets a reader of its own, beside ``events``
EVENTS = """
    schema_version smallint, seq bigint, xid bigint, at timestamp, kind smallint,
    queue_id int, queue string, came_from smallint, went_to smallint, uow bigint,
    actor string, n int, ids array<bigint>, detail string
"""


class Days(NamedTuple):
    """Whole days (UTC), both included."""

    first: date
    last: date

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        return datetime.combine(self.last + timedelta(days=1), time(), UTC)


def last_window() -> int:
    """The newest that is done; zero without any."""
    done = ExportWindow.objects.filter(state=ExportWindow.State.DONE)
    return done.aggregate(n=Max("n"))["n"] or 0


def reopened(after: int, through: int) -> Days | None:
    """The days that windows after the one, up to the other, have something to add to.

    Late events may be of days long counted; those are counted again, whole.
    """
    span = ExportWindow.objects.filter(n__gt=after, n__lte=through).aggregate(
        first=Min("first_at"), last=Max("last_at")
    )
    if span["first"] is None:
        return None
    first, last = (span[end].astimezone(UTC).date() for end in ("first", "last"))
    return Days(first, last)


def events(spark: SparkSession, days: Days, through: int) -> DataFrame:
    """The journal of some days, as rows of ``EVENTS``, from windows up to one.

    Raises:
        ArchiveDamaged: a file is lost for good.
        QualityBroken: it has events that this code does not know how to read.
    """
    windows = ExportWindow.objects.filter(
        state=ExportWindow.State.DONE,
        n__lte=through,
        first_at__lt=days.end,
        last_at__gte=days.begin,
    )
    paths = [str(file_of(window)) for window in windows]
    frame = spark.read.schema(EVENTS).parquet(*paths)
    strange = frame.where(F.col("schema_version") != SCHEMA_VERSION).count()
    require_equal("every event has a version that is known", strange, 0)
    at = F.col("at")
    return frame.where((at >= F.lit(days.begin)) & (at < F.lit(days.end)))
