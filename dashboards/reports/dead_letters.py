"""Dead letters by queue, cause and day.

Reads    lifelines     of silver
Writes   dead letters  one row for each day, queue and cause

The queue is the origin of the dead letter, not the dead letter queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import CAUSE, DEAD
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINK = "origin:{queue} cause:{cause} died:{day}"


@report(
    "dead-letters",
    title=gettext_noop("Dead letters by queue, cause and day"),
    question=gettext_noop(
        "Which queues lose messages, to what, and is it getting better?"
    ),
    inputs=("lifelines",),
    columns=(
        Column("day", gettext_noop("Day"), "day"),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column("cause", gettext_noop("Cause"), "cause"),
        Column("dead_letters", gettext_noop("Dead letters"), "count", link=LINK),
        Column("last_at", gettext_noop("Last one"), "moment"),
    ),
    charts=(
        Chart(
            gettext_noop("Dead letters by day and cause"),
            "bars",
            "day",
            "dead_letters",
            "cause",
        ),
    ),
    totals=(
        Total(
            gettext_noop("every dead letter is counted once"),
            ("dead_letters",),
            {"lifelines": DEAD},
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
