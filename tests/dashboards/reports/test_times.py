"""How long dying and clearing take, on a few stays."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import (
    LETTER,
    TODAY,
    built,
    check,
    death,
    frames,
    require,
    stay,
)
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day


def seconds(count: int) -> timedelta:
    return timedelta(seconds=count)


def test_times_to_death_are_by_queue_and_cause(spark: SparkSession) -> None:
    dead = [
        death(n, put_at=NOON - seconds(10 * n), ended_at=NOON, deliveries=n)
        for n in range(1, 12)
    ]
    old = death(20, queue="bills", put_at=None, ended_at=NOON, cause=None)
    inputs = frames(spark, lifelines=[*dead, old, stay(21)])

    found = built("time-to-dead-letter", inputs)

    require(
        "time-to-dead-letter",
        found,
        [
            (TODAY, "orders", "REJECTED", 11, 60.0, 100.0, 109.0, 110.0, 6.0),
            (TODAY, "bills", "UNKNOWN", 1, None, None, None, None, 1.0),
        ],
    )
    with pytest.raises(QualityBroken, match="every dead letter is counted once"):
        check("time-to-dead-letter", inputs, found.limit(0).toArrow())


def test_times_to_clear_are_by_where_they_died_and_how(spark: SparkSession) -> None:
    inputs = frames(
        spark,
        lifelines=[
            stay(1, ended_at=NOON + seconds(10), ended="resubmitted", **LETTER),
            stay(2, ended_at=NOON + seconds(30), ended="resubmitted", **LETTER),
            stay(3, ended_at=NOON + seconds(7200), ended="resubmitted", **LETTER),
            stay(4, ended_at=NOON, ended="removed", **LETTER | {"parent_queue": None}),
            death(5),
            stay(6),
        ],
    )

    found = built("time-to-clear", inputs)

    require(
        "time-to-clear",
        found,
        [
            (TODAY, "orders", "resubmitted", 3, 30.0, 5766.0, 7200.0, 12),
            (TODAY, "DLQ", "removed", 1, 0.0, 0.0, 0.0, 12),
        ],
    )
    with pytest.raises(
        QualityBroken, match="every dead letter that was cleared is counted once"
    ):
        check("time-to-clear", inputs, found.limit(0).toArrow())
