"""What became of resubmits, on a few stays of two days."""

from __future__ import annotations

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
    frames,
    going_on,
    require,
    stay,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day

BACK = {"parent_end": "resubmitted", "parent_cause": "REJECTED", "parent_queue": "DLQ"}


def test_copies_are_counted_when_they_begin_and_when_they_end(
    spark: SparkSession,
) -> None:
    inputs = frames(
        spark,
        lifelines=[
            stay(1, **BACK),
            death(2, **BACK),
            stay(3, ended="removed", **BACK | {"repaired": True}),
            stay(4, ended_at=SOON + DAY, **BACK),
            stay(5),
            stay(6, parent_end="moved"),
        ],
        open=[
            going_on(4, **BACK),
            going_on(7, **BACK | {"parent_cause": None}),
            going_on(7, day=TOMORROW, **BACK | {"parent_cause": None}),
        ],
    )

    found = built("resubmits", inputs)

    require(
        "resubmits",
        found,
        [
            (TODAY, "orders", "REJECTED", "as it was", 3, 1, 1, 0, 1, 0.5),
            (TODAY, "orders", "REJECTED", "edited", 1, 0, 0, 1, 0, 0.0),
            (TODAY, "orders", "UNKNOWN", "as it was", 1, 0, 0, 0, 1, None),
            (TOMORROW, "orders", "REJECTED", "as it was", 0, 1, 0, 0, 0, 1.0),
            (TOMORROW, "orders", "UNKNOWN", "as it was", 0, 0, 0, 0, 1, None),
        ],
    )
    with pytest.raises(QualityBroken, match="every resubmitted copy is counted once"):
        check("resubmits", inputs, found.limit(0).toArrow())
