"""How many entries are accepted after how many failures.

Reads    lifelines   of silver
Writes   rescues     one row for each day, queue and number of failures

How to use it: if further attempts rescue almost no entries after some number of
attempts, that number is enough for ``max_delivery_attempts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import DEAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 10  # entries with this many failures or more are in one row


@report(
    "rescues",
    title="Accepted after failures, by number of failures",
    question="After how many failures does one more delivery still help?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day", note="On which the message left the queue."),
        Column("queue", "Queue", "queue"),
        Column(
            "failures",
            "Failures",
            "count",
            note=f"{MOST} is {MOST} or more.",
            adds_up=False,
        ),
        Column("entries", "Entries", "count"),
        Column("rescued", "Accepted after a failure", "count"),
        Column("died", "Became dead letters", "count"),
        Column("share", "Share accepted after a failure", "share"),
    ),
    charts=(
        Chart(
            "Accepted, by number of failures", "bars", "failures", "rescued", "queue"
        ),
        Chart(
            "Dead letters by number of failures", "bars", "failures", "died", "queue"
        ),
    ),
    totals=(
        Total(
            "every message that failed is counted once",
            ("entries",),
            {"lifelines": "failed > 0"},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, queue, least(failed, {MOST}) AS failures, count(*) AS entries,
            count_if(ended = 'accepted') AS rescued, count_if({DEAD}) AS died,
            avg(CAST(ended = 'accepted' AS int)) AS share
        FROM {{lifelines}} WHERE failed > 0 GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=lifelines,
    )
