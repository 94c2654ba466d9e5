"""Totals of reports by day: each table of silver is counted once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dashboards.pipeline.manifest import DAY, Span
from dashboards.reports import discover
from tests.dashboards.histories import make_history
from tests.dashboards.silver_tables import refreshed
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("committed")]
BOTH = Span(NOON.date(), NOON.date() + DAY)


@pytest.mark.thorough
def test_one_pass_counts_for_all_reports_of_the_same_days(spark: SparkSession) -> None:
    from dashboards.pipeline import sources, totals  # noqa: PLC0415  loads Spark

    make_history()
    refreshed(spark)
    reports = discover()

    def counts(slug: str, span: Span) -> totals.Counts:
        lifelines = sources.table_of(spark, "lifelines", span)
        return totals.of_days(reports[slug], {"lifelines": lifelines}, span)[
            "lifelines"
        ]

    first = counts("dead-letters", BOTH)
    assert counts("debt", BOTH) is first
    assert counts("debt", Span(NOON.date(), NOON.date())) is not first
    [deaths] = totals.conditions("lifelines", [reports["dead-letters"]])
    lifelines = sources.table_of(spark, "lifelines", BOTH)
    assert first[deaths] == lifelines.where(deaths).count() > 0
