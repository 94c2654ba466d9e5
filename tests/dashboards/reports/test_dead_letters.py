"""The report on a few timelines: what is counted, by what, and what must be true."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.reports import Inputs, dead_letters, discover
from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import check
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LATER = NOON + timedelta(hours=2)
NEXT = NOON + timedelta(days=1)
SCHEMA = (
    "message_id bigint, queue string, ended_at timestamp, ended string, cause string"
)


def row(
    message_id: int,
    *,
    at: datetime = NOON,
    ended: str = "dead-lettered",
    queue: str = "orders",
    cause: str | None = "EXPIRED",
) -> tuple[Any, ...]:
    return message_id, queue, at, ended, cause


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    lifelines = spark.createDataFrame(
        [
            row(1),
            row(2),
            row(3, at=LATER),
            row(4, cause="REJECTED"),
            row(5, queue="deleted queue 7", cause=None, at=NEXT),
            row(6, ended="accepted", cause=None),
        ],
        SCHEMA,
    )
    return {"lifelines": lifelines.selectExpr("*", "to_date(ended_at) AS day")}


def test_deaths_are_counted_by_day_queue_and_cause(
    spark: SparkSession, inputs: Inputs
) -> None:
    from pyspark.testing import assertDataFrameEqual  # noqa: PLC0415  loads Spark

    expected = spark.createDataFrame(
        [
            (NOON.date(), "orders", "EXPIRED", 3, LATER),
            (NOON.date(), "orders", "REJECTED", 1, NOON),
            (NEXT.date(), "deleted queue 7", "UNKNOWN", 1, NEXT),
        ],
        discover()["dead-letters"].ddl,
    )
    assertDataFrameEqual(dead_letters.build(inputs, {}), expected)


def test_a_row_too_few_is_noticed(inputs: Inputs) -> None:
    rows = dead_letters.build(inputs, {}).toArrow()
    check("dead-letters", inputs, rows)
    with pytest.raises(QualityBroken, match="every dead letter is counted once"):
        check("dead-letters", inputs, rows.slice(1))
