"""The report on five rows: what is counted, by what, and what must be true."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from broker.models import Kind
from dashboards.reports import dead_letters
from dashboards.reports.errors import QualityBroken
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DAY = date(2026, 3, 14)
LATER = NOON + timedelta(hours=2)
NEXT = NOON + timedelta(days=1)
EXPIRED = '{"cause": "EXPIRED"}'


def row(
    ids: list[int],
    *,
    at: datetime = NOON,
    kind: int = Kind.DEAD_LETTER,
    queue: str | None = "orders",
    detail: str | None = EXPIRED,
) -> tuple[Any, ...]:
    return at, int(kind), 7, queue, len(ids), ids, detail


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [
            row([1, 2]),
            row([3], at=LATER),
            row([4], detail='{"cause": "REJECTED", "error": "no such customer"}'),
            row([5], queue=None, detail=None, at=NEXT),
            row([6], kind=Kind.ACCEPT),
        ],
        dead_letters.EVENTS,
    )


def test_deaths_are_counted_by_day_queue_and_cause(
    spark: SparkSession, events: DataFrame
) -> None:
    from pyspark.testing import assertDataFrameEqual  # noqa: PLC0415  loads Spark

    expected = spark.createDataFrame(
        [
            (DAY, "orders", "EXPIRED", 3, LATER),
            (DAY, "orders", "REJECTED", 1, NOON),
            (NEXT.date(), "deleted queue 7", "UNKNOWN", 1, NEXT),
        ],
        dead_letters.REPORT,
    )
    assertDataFrameEqual(dead_letters.build(events), expected)


def test_a_row_too_few_is_noticed(events: DataFrame) -> None:
    rows = dead_letters.build(events).toArrow().to_pylist()
    dead_letters.check(events, rows)
    with pytest.raises(QualityBroken, match="every dead letter is counted once"):
        dead_letters.check(events, rows[1:])


def test_an_entry_that_died_twice_is_noticed(events: DataFrame) -> None:
    twice = events.union(events)
    rows = dead_letters.build(twice).toArrow().to_pylist()
    with pytest.raises(QualityBroken, match="every entry dies once"):
        dead_letters.check(twice, rows)


def test_an_event_without_its_entries_is_noticed(spark: SparkSession) -> None:
    at, kind, queue_id, queue, _, ids, detail = row([1])
    events = spark.createDataFrame(
        [(at, kind, queue_id, queue, 2, ids, detail)], dead_letters.EVENTS
    )
    with pytest.raises(QualityBroken, match="every dead letter of the journal is read"):
        dead_letters.check(events, [{"dead_letters": 1}])


def test_the_number_of_the_kind_is_the_broker_s() -> None:
    assert dead_letters.DEAD_LETTER == Kind.DEAD_LETTER
