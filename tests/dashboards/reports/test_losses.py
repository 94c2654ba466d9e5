"""Every report about losses says of three days what SQL says over the same journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dashboards.histories import at
from tests.dashboards.losses import HOURS, make_losses
from tests.tools.reports import sql_comparison

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.thorough]

END = at(HOURS * 60)


def test_reports_say_what_the_journal_says(
    committed: None, spark: SparkSession
) -> None:
    make_losses()
    assert sql_comparison.archived(spark) == 3
    sql_comparison.make_tables()

    found = list(sql_comparison.agreed(spark, END))

    assert [(one.report, one.missing, one.added) for one in found] == [
        (one.report, [], []) for one in found
    ]
    assert {one.report for one in found if one.rows < 2} == set()
    merged = sql_comparison.told(spark, "causes", END, days=30)
    assert any(row[5] > 1 for row in merged), "near-duplicates are one"
    at_random = sql_comparison.told(spark, "differences", END, days=30, least=5)
    assert at_random == []
