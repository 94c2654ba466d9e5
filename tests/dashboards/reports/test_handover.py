"""What a shift hands over, on a few rows of two days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dashboards.reports import handover
from dashboards.reports.errors import QualityBroken
from tests.dashboards.reports.silver_rows import (
    DAY,
    LETTER,
    SOON,
    TOMORROW,
    built,
    death,
    failure,
    frames,
    going_on,
    require,
    stay,
)
from tests.make import NOON, minutes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]  # test_losses is for every day

NEXT = NOON + DAY
NOW = NEXT + minutes(60)
SINCE = NOW - minutes(120)


def test_a_shift_is_told_beside_the_one_before(spark: SparkSession) -> None:
    error = {"fingerprint": "aa", "error": "no such row 17"}
    new = {"fingerprint": "bb", "error": "out of memory"}
    before = SINCE - minutes(30)
    inputs = frames(
        spark,
        deliveries=[
            failure(1, **error),
            failure(2, ended_at=NEXT, **error),
            failure(3, ended_at=NEXT, **new, cause="REJECTED", outcome="dead-lettered"),
            failure(4, ended_at=NEXT + minutes(1), **new | {"error": "out of disk"}),
        ],
        lifelines=[
            stay(1),
            death(3, put_at=before, ended_at=NEXT, **new),
            death(5, put_at=before, ended_at=before),
            stay(6, put_at=SOON, ended_at=NEXT, ended="resubmitted", **LETTER),
        ],
        open=[
            going_on(7),
            going_on(4, put_at=NEXT, day=TOMORROW),
            going_on(7, day=TOMORROW),
            going_on(8, put_at=NEXT, day=TOMORROW, **LETTER),
            going_on(9, put_at=None, day=TOMORROW, queue="bills"),
        ],
    )

    found = built("handover", inputs, hours=2, as_of=NOW)

    none = (None,) * 4
    cause = ("REJECTED", None, None, None)
    require(
        "handover",
        found,
        [
            (SINCE, "arrived", "orders", *none, 1, 2, NEXT, NEXT),
            (SINCE, "dead-lettered", "orders", *cause, 1, 1, NEXT, NEXT),
            (SINCE, "cleared", "orders", None, "resubmitted", None, None, 1, 0, NEXT,
             NEXT),
            (SINCE, "new cause", "orders", "REJECTED", None, "bb", "out of disk", 2, 0,
             NEXT, NEXT + minutes(1)),
            (SINCE, "open dead letters", "orders", *cause, 1, 1, NEXT, NEXT),
        ],
    )  # fmt: skip
    with pytest.raises(QualityBroken, match="every dead letter is counted once"):
        handover.check(inputs, [{"since": SINCE, "what": "dead-lettered", "count": 2}])


def test_queues_that_grew_are_told(spark: SparkSession) -> None:
    inputs = frames(
        spark,
        lifelines=[stay(1, ended_at=NOON + minutes(30))],
        open=[going_on(2), going_on(3, put_at=NOON + minutes(90))],
    )
    end = NOON + minutes(120)
    found = built("handover", inputs, hours=1, as_of=end)
    begin = NOON + minutes(60)
    [_, grew] = found.toArrow().to_pylist()
    assert (grew["what"], grew["count"], grew["before"]) == ("waiting", 2, 1)
    assert (grew["first_at"], grew["since"]) == (NOON, begin)
