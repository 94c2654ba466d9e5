"""Messages that expired, by the hour.

Reads    lifelines   of silver
Writes   expiry      one row for each queue and hour in which messages expired
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import seconds, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXPIRED = "ended = 'expired'"


@report(
    "expiry",
    title="Expired messages by queue and hour",
    question="Which messages expire before anybody has processed them?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day"),
        Column("hour", "Hour", "moment", unit="hour"),
        Column("queue", "Queue", "queue"),
        Column("expired", "Expired", "count"),
        Column(
            "tried",
            "Had been delivered",
            "count",
            note="Messages that failed at least once, and were not accepted.",
        ),
        Column(
            "moved",
            "Moved on",
            "count",
            note="Copied to the expiry address of the queue; the others are gone.",
        ),
        Column("p50", "Expired after (median)", "seconds", note="From the put."),
        Column("p95", "95th percentile", "seconds"),
    ),
    charts=(
        Chart("Expired", "lines", "hour", "expired", "queue"),
        Chart("Expired by day", "bars", "day", "expired", "queue"),
    ),
    totals=(
        Total(
            "every message that expired is counted once",
            ("expired",),
            {"lifelines": EXPIRED},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, date_trunc('hour', ended_at) AS hour, queue, count(*) AS expired,
            count_if(deliveries > 0) AS tried, count_if(became IS NOT NULL) AS moved,
            {spread(seconds("put_at", "ended_at"), 50, 95)}
        FROM {{lifelines}} WHERE {EXPIRED} GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=lifelines,
    )
