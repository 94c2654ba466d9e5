"""Deliveries by the program that got them: how many fail, and how long they take.

Reads    deliveries   of silver
Writes   handlers     one row for each day, queue and handler with deliveries
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import seconds, spread
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOBODY = "(no name)"  # shown for a program that gave no name


@report(
    "handlers",
    title=gettext_noop("Deliveries by handler and day"),
    question=gettext_noop("Which consumers fail, and how long do they take?"),
    inputs=("deliveries",),
    columns=(
        Column("day", gettext_noop("Day"), "day"),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column(
            "handler",
            gettext_noop("Handler"),
            "text",
            note=gettext_noop(
                "The name of the consumer in the journal: a handler, a user or a link."
            ),
        ),
        Column(
            "deliveries",
            gettext_noop("Deliveries"),
            "count",
            note=gettext_noop("Those that ended."),
        ),
        Column("accepted", gettext_noop("Accepted"), "count"),
        Column(
            "failed",
            gettext_noop("Failed"),
            "count",
            note=gettext_noop("Backed out, or given up."),
        ),
        Column(
            "otherwise",
            gettext_noop("Ended otherwise"),
            "count",
            note=gettext_noop("Released, or taken away by an operator."),
        ),
        Column("share", gettext_noop("Share failed"), "share"),
        Column(
            "p50",
            gettext_noop("Median"),
            "seconds",
            note=gettext_noop("From the get to the end, of accepted deliveries."),
        ),
        Column("p95", gettext_noop("95th percentile"), "seconds"),
    ),
    charts=(
        Chart(
            gettext_noop("Deliveries by day"), "bars", "day", "deliveries", "handler"
        ),
        Chart(gettext_noop("Failed by day"), "bars", "day", "failed", "handler"),
    ),
    totals=(
        Total(
            gettext_noop("every delivery is counted once"),
            ("deliveries",),
            {"deliveries": "true"},
        ),
        Total(
            gettext_noop("every failed delivery is counted once"),
            ("failed",),
            {"deliveries": "failed"},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    deliveries = inputs["deliveries"]
    took = f"IF(outcome = 'accepted', {seconds('got_at', 'ended_at')}, NULL)"
    return deliveries.sparkSession.sql(
        f"""
        SELECT day, queue, coalesce(nullif(handler, ''), '{NOBODY}') AS handler,
            count(*) AS deliveries, count_if(outcome = 'accepted') AS accepted,
            count_if(failed) AS failed,
            count_if(outcome <> 'accepted' AND NOT failed) AS otherwise,
            avg(CAST(failed AS int)) AS share, {spread(took, 50, 95)}
        FROM {{deliveries}} GROUP BY ALL
        """,  # noqa: S608  # constants
        deliveries=deliveries,
    )
