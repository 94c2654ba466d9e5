"""What waits at the end of each day, and how that goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dashboards.reports import debt_forecast
from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import (
    DAY,
    LETTER,
    SOON,
    TODAY,
    TOMORROW,
    Row,
    built,
    check,
    death,
    frames,
    going_on,
    require,
    stay,
)
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day

HOUR = 3600.0


def test_debt_is_what_is_open_at_the_end_of_the_day(spark: SparkSession) -> None:
    inputs = frames(
        spark,
        lifelines=[
            stay(1, ended="resubmitted", **LETTER),
            stay(2, ended="removed", ended_at=SOON + DAY, **LETTER),
            death(9),
        ],
        open=[
            going_on(2, **LETTER),
            going_on(3, **LETTER, put_at=NOON - DAY),
            going_on(3, day=TOMORROW, **LETTER, put_at=NOON - DAY),
            going_on(4, day=TOMORROW, **LETTER | {"put_cause": "EXPIRED"}),
            going_on(5),
        ],
    )

    found = built("debt", inputs, as_of=NOON + 1.25 * DAY)

    require(
        "debt",
        found,
        [
            (TODAY, "orders", "REJECTED", 2, 2, 1, 1, 36 * HOUR),
            (TOMORROW, "orders", "REJECTED", 1, 0, 1, -1, 54 * HOUR),
            (TOMORROW, "orders", "EXPIRED", 1, 0, 0, 0, 30 * HOUR),
        ],
    )
    with pytest.raises(QualityBroken, match="every dead letter that is open"):
        check("debt", inputs, found.limit(0).toArrow())


def waiting(counts: list[int], queue: str) -> list[Row]:
    """Letters that were open at the ends of the days from today on."""
    letter = LETTER | {"parent_queue": queue}
    return [
        going_on(n, day=TODAY + day * DAY, **letter)
        for day, count in enumerate(counts)
        for n in range(count)
    ]


def test_the_debt_goes_on_by_the_median_of_its_changes(spark: SparkSession) -> None:
    """One day on which much died does not bend it."""
    inputs = frames(
        spark,
        open=[
            *waiting([10, 8, 26, 4], "orders"),
            *waiting([0, 1, 2, 3], "bills"),
            *waiting([1], "gone"),
        ],
    )

    found = built("debt-forecast", inputs)

    last = TODAY + 3 * DAY
    lower, upper = -9.5, 4.5  # of -22, -9, -2, -2, 8, 18 …
    rows = {row["queue"]: row for row in found.toArrow().to_pylist()}
    assert rows["bills"] == {
        "queue": "bills", "day": last, "open": 3, "change": 1.0, "ahead": 10.0,
        "low": 10.0, "high": 10.0, "cleared_on": None,
    }  # fmt: skip
    orders = rows["orders"]
    assert (orders["open"], orders["change"]) == (4, -2.0)
    assert orders["ahead"] == orders["low"] == 0
    assert orders["cleared_on"] == last + timedelta(days=2)
    assert rows["gone"]["open"] == 0
    assert lower < orders["change"] < upper
    with pytest.raises(QualityBroken, match="every dead letter that is open"):
        debt_forecast.check(inputs, [row | {"open": 9} for row in rows.values()])


def test_of_one_day_nothing_is_foreseen(spark: SparkSession) -> None:
    found = built("debt-forecast", frames(spark, open=waiting([2], "orders")))
    nothing = (None,) * 5
    require("debt-forecast", found, [("orders", TODAY, 2, *nothing)])
