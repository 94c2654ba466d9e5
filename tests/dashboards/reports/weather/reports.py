"""What the weather would be: a report with parameters, as slow as it is told to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Column, Inputs, Parameter, Rows, Values, report
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check(inputs: Inputs, rows: Rows) -> None:
    require_equal("it is counted once", len(rows), 1)


@report(
    "weather",
    title="The weather",
    question="How many stays would there be?",
    inputs=("lifelines",),
    columns=(Column("place", "Place", "text"), Column("stays", "Stays", "count")),
    parameters=(
        Parameter("days", "count", 30, "Days", least=1, most=90),
        Parameter("place", "text", "here", "Place"),
        Parameter("slowness", "count", 1, "Slowness"),
    ),
    check=check,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    spark = inputs["lifelines"].sparkSession
    waiting = spark.range(values["slowness"]).selectExpr("sum(id % 7) AS waited")
    stays = inputs["lifelines"].selectExpr("count(*) AS stays")
    return stays.crossJoin(waiting).selectExpr(
        f"'{values['place']}' AS place", "IF(waited < 0, 0, stays) AS stays"
    )
