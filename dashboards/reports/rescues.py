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
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 10  # entries with this many failures or more are in one row; a note names it


@report(
    "rescues",
    title=gettext_noop("Accepted after failures, by number of failures"),
    question=gettext_noop("After how many failures does one more delivery still help?"),
    inputs=("lifelines",),
    columns=(
        Column(
            "day",
            gettext_noop("Day"),
            "day",
            note=gettext_noop("On which the message left the queue."),
        ),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column(
            "failures",
            gettext_noop("Failures"),
            "count",
            note=gettext_noop("10 is 10 or more."),
            adds_up=False,
        ),
        Column("entries", gettext_noop("Entries"), "count"),
        Column("rescued", gettext_noop("Accepted after a failure"), "count"),
        Column("died", gettext_noop("Became dead letters"), "count"),
        Column("share", gettext_noop("Share accepted after a failure"), "share"),
    ),
    charts=(
        Chart(
            gettext_noop("Accepted, by number of failures"),
            "bars",
            "failures",
            "rescued",
            "queue",
        ),
        Chart(
            gettext_noop("Dead letters by number of failures"),
            "bars",
            "failures",
            "died",
            "queue",
        ),
    ),
    totals=(
        Total(
            gettext_noop("every message that failed is counted once"),
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
