"""Dead letters by queue, cause and day.

Reads    lifelines     of silver
Writes   dead letters  one row for each day, queue and cause

The queue is the origin of the dead letter, not the dead letter queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import CAUSE, DEAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINK = "origin:{queue} cause:{cause} died:{day}"


@report(
    "dead-letters",
    title="Dead letters by queue, cause and day",
    question="Which queues lose messages, to what, and is it getting better?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day"),
        Column("queue", "Queue", "queue"),
        Column("cause", "Cause", "cause"),
        Column("dead_letters", "Dead letters", "count", link=LINK),
        Column("last_at", "Last one", "moment"),
    ),
    charts=(
        Chart("Dead letters by day and cause", "bars", "day", "dead_letters", "cause"),
    ),
    totals=(
        Total(
            "every dead letter is counted once", ("dead_letters",), {"lifelines": DEAD}
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, queue, {CAUSE} AS cause,
            count(*) AS dead_letters, max(ended_at) AS last_at
        FROM {{lifelines}}
        WHERE {DEAD}
        GROUP BY ALL
        """,  # noqa: S608  # two constants
        lifelines=lifelines,
    )
