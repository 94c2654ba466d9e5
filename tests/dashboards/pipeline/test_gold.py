"""Rows of reports by day, computed for several days at a time."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.models import PublishedDay, ReportRow
from dashboards.reports import discover
from tests.dashboards.histories import make_history
from tests.dashboards.silver_tables import refreshed
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("committed"),
    pytest.mark.thorough,
]


def rows_of(slug: str) -> list[tuple[Any, ...]]:
    found = ReportRow.objects.filter(report=slug).order_by("day", "n")
    return list(found.values_list("day", "n", "cells"))


@pytest.mark.parametrize(
    ("slug", "limit"),
    [("dead-letters", "AT_ONCE"), ("throughput", "AT_ONCE_OF_MINUTES")],
)
def test_days_have_the_same_rows_one_by_one_and_together(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, slug: str, limit: str
) -> None:
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    make_history()
    refreshed(spark)
    shares: list[tuple[float, float]] = []

    def around(done: float, will_be: float) -> nullcontext[None]:
        shares.append((done, will_be))
        return nullcontext()

    def rows(run: int) -> list[tuple[Any, ...]]:
        PublishedDay.objects.filter(table=f"gold/{slug}").delete()
        gold.bring_up_to_date(spark, run, discover()[slug], NOON, around)
        return rows_of(slug)

    together = rows(1)
    assert shares == [(0, 1)]
    shares.clear()
    monkeypatch.setattr(gold, limit, 1)

    assert rows(2) == together
    assert shares == [(0, 0.5), (0.5, 1)]
    assert together
