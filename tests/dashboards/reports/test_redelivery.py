"""What failed deliveries cost, on a few deliveries and stays."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import (
    DAY,
    SOON,
    TODAY,
    TOMORROW,
    built,
    check,
    death,
    delivery,
    failure,
    frames,
    require,
    stay,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day


def test_costs_are_of_the_day_and_rescues_of_the_day_they_ended(
    spark: SparkSession,
) -> None:
    late = SOON + DAY
    inputs = frames(
        spark,
        deliveries=[
            delivery(1),
            failure(2, next_due_at=SOON + timedelta(seconds=30)),
            delivery(2, attempt=2, ended_at=late),
            failure(3, got_at=None),
            failure(9, queue="bills", outcome="dead-lettered"),
        ],
        lifelines=[
            stay(1),
            stay(2, failed=1, ended_at=late),
            stay(4, failed=2),
            stay(5, failed=7),
            stay(6, failed=1, ended="expired"),
            death(9, queue="bills"),
        ],
    )

    found = built("redelivery", inputs)

    nothing = (0,) * 4
    require(
        "redelivery",
        found,
        [
            (TODAY, "orders", 3, 2, 60.0, 30.0, 3, 2, 0, 1, 0, 1, 0, 1, 2 / 3),
            (TODAY, "bills", 1, 1, 60.0, 0.0, 1, 0, *nothing, 1, 0, 0.0),
            (TOMORROW, "orders", 1, 0, 0.0, 0.0, 1, 1, 1, 0, 0, 0, 0, 0, 1.0),
        ],
    )
    rows = found.toArrow()
    with pytest.raises(QualityBroken, match="every delivery is counted once"):
        check("redelivery", inputs, rows.slice(1))


def test_where_nothing_failed_there_is_no_share(spark: SparkSession) -> None:
    inputs = frames(spark, deliveries=[delivery(1)], lifelines=[stay(1)])
    zeros = (0.0, 0.0, *(0,) * 8)
    require(
        "redelivery",
        built("redelivery", inputs),
        [(TODAY, "orders", 1, 0, *zeros, None)],
    )


def test_rescues_are_by_number_of_failures(spark: SparkSession) -> None:
    lifelines = [
        stay(1),
        stay(2, failed=1),
        death(3, failed=1),
        stay(4, failed=1, ended="removed"),
        stay(5, failed=12),
    ]
    found = built("rescues", frames(spark, lifelines=lifelines))
    require(
        "rescues",
        found,
        [(TODAY, "orders", 1, 3, 1, 1, 1 / 3), (TODAY, "orders", 10, 1, 1, 0, 1.0)],
    )
