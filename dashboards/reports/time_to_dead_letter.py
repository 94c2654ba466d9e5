"""How long it takes until a message is dead-lettered.

Reads    lifelines             of silver
Writes   time to dead letter   one row for each day, queue and cause

The time is from the put on the queue to the dead-lettering there; a resubmitted copy
starts again. If the put is older than the archive, the time is not known, and only the
dead letter is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Rows, Values, report
from dashboards.reports.common_sql import CAUSE, DEAD, seconds, spread
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINK = "origin:{queue} cause:{cause} died:{day}"


def check(inputs: Inputs, rows: Rows) -> None:
    counted = sum(row["deaths"] for row in rows)
    died = inputs["lifelines"].where(DEAD).count()
    require_equal("every dead letter is counted once", counted, died)
    rising = [
        row["p50"] <= row["p90"] <= row["p99"] <= row["longest"]
        for row in rows
        if row["longest"] is not None
    ]
    require_equal("longer times are more seldom", sum(rising), len(rising))


@report(
    "time-to-dead-letter",
    title="Time to dead letter",
    question="How long does a message take from its put to its death?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day", note="Of the death."),
        Column("queue", "Queue", "queue"),
        Column("cause", "Cause", "cause"),
        Column("deaths", "Dead letters", "count", link=LINK),
        Column("p50", "Half within", "seconds"),
        Column("p90", "9 of 10 within", "seconds"),
        Column("p99", "99 of 100 within", "seconds"),
        Column("longest", "Longest", "seconds"),
        Column("attempts", "Deliveries", "number", note="Of each, on average."),
    ),
    charts=(Chart("Dead letters by day", "bars", "day", "deaths", "queue"),),
    check=check,
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    taken = seconds("put_at", "ended_at")
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, queue, {CAUSE} AS cause, count(*) AS deaths,
            {spread(taken, 50, 90, 99)}, max({taken}) AS longest,
            avg(deliveries) AS attempts
        FROM {{lifelines}} WHERE {DEAD} GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=lifelines,
    )
