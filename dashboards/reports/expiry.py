"""Messages that expired, by the hour.

Reads    lifelines   of silver
Writes   expiry      one row for each queue and hour in which messages expired
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import seconds, spread
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXPIRED = "ended = 'expired'"


@report(
    "expiry",
    title=gettext_noop("Expired messages by queue and hour"),
    question=gettext_noop("Which messages expire before anybody has processed them?"),
    inputs=("lifelines",),
    columns=(
        Column("day", gettext_noop("Day"), "day"),
        Column("hour", gettext_noop("Hour"), "moment", unit="hour"),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column("expired", gettext_noop("Expired"), "count"),
        Column(
            "tried",
            gettext_noop("Had been delivered"),
            "count",
            note=gettext_noop(
                "Messages that failed at least once, and were not accepted."
            ),
        ),
        Column(
            "moved",
            gettext_noop("Moved on"),
            "count",
            note=gettext_noop(
                "Copied to the expiry address of the queue; the others are gone."
            ),
        ),
        Column(
            "p50",
            gettext_noop("Expired after (median)"),
            "seconds",
            note=gettext_noop("From the put."),
        ),
        Column("p95", gettext_noop("95th percentile"), "seconds"),
    ),
    charts=(
        Chart(gettext_noop("Expired"), "lines", "hour", "expired", "queue"),
        Chart(gettext_noop("Expired by day"), "bars", "day", "expired", "queue"),
    ),
    totals=(
        Total(
            gettext_noop("every message that expired is counted once"),
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
