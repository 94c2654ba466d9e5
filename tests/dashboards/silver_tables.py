"""Silver as tests make it and read it."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date
from itertools import count
from typing import TYPE_CHECKING, Any

from dashboards.pipeline import bronze, manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
RUNS = count(1_000_000)  # no run has such a number


def refreshed(spark: SparkSession) -> int:
    """Bring silver up to date; how many days were made."""
    from dashboards.pipeline import silver_days  # noqa: PLC0415  loads Spark

    as_of = bronze.export(lambda _: None)
    return silver_days.bring_up_to_date(
        spark, next(RUNS), as_of, lambda *_: nullcontext()
    )


def rows(spark: SparkSession, table: str, day: date | None = None) -> list[Row]:
    """A table, of one day or all, in an order."""
    from dashboards.pipeline import sources  # noqa: PLC0415  loads Spark

    span = manifest.Span(day, day) if day else manifest.Span(date.min, date.max)
    found: list[Row] = sources.silver_of(spark, table, span).toArrow().to_pylist()
    return sorted(found, key=place_of)


def place_of(row: Row) -> list[Any]:
    first = [row[name] for name in ("queue_id", "message_id", "stay")]
    return [*first, row.get("attempt", 0), str(row.get("day", ""))]


def silver(spark: SparkSession) -> list[list[Row]]:
    """All that is published."""
    return [rows(spark, table) for table in ("deliveries", "lifelines", "open")]
