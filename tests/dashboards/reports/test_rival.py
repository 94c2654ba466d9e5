"""DuckDB, beside which the bench sets Spark, makes the same rows of the same files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dashboards.histories import at
from tests.dashboards.losses import HOURS, make_losses
from tests.tools.reports.cluster import SAID

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

END = at(HOURS * 60)
MORE = {"least": 5}  # so that there is something to set apart


def test_silver_and_every_report_are_the_same_by_duckdb(
    committed: None, spark: SparkSession, tmp_path: Path
) -> None:
    from dashboards.pipeline import (  # noqa: PLC0415  loads Spark
        bronze,
        gold,
        silver_days,
    )
    from dashboards.reports import discover  # noqa: PLC0415
    from tests.bench.archive.sides import Rival  # noqa: PLC0415

    make_losses()
    as_of = bronze.export(lambda _: None)
    days = silver_days.stale()
    silver_days.bring_up_to_date(spark, 1, as_of, lambda *_: nullcontext())
    rival = Rival(tmp_path, 1)

    rival.silver(days)()()  # asks, then compares
    compared = {}
    for slug, report in discover().items():
        names = {one.name for one in report.parameters}
        said = {name: value for name, value in (SAID | MORE).items() if name in names}
        if report.is_by_day:
            gold.bring_up_to_date(spark, 1, report, END, lambda *_: nullcontext())
            rival.days_of(report, days, END)()()
        else:
            found = gold.answer(spark, report, said, END)
            rival.run_of(report, said, found, END)()()
            compared[slug] = found.num_rows

    assert compared["causes"] > 1
    assert compared["what-if"] > 1
