"""Deliveries by the program that got them: how many fail, and how long they take.

Reads    deliveries   of silver
Writes   handlers     one row for each day, queue and handler with deliveries
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import seconds, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOBODY = "(no name)"  # shown for a program that gave no name


@report(
    "handlers",
    title="Deliveries by handler and day",
    question="Which consumers fail, and how long do they take?",
    inputs=("deliveries",),
    columns=(
        Column("day", "Day", "day"),
        Column("queue", "Queue", "queue"),
        Column(
            "handler",
            "Handler",
            "text",
            note="The name of the consumer in the journal: a handler, a user or a"
            " link.",
        ),
        Column("deliveries", "Deliveries", "count", note="Those that ended."),
        Column("accepted", "Accepted", "count"),
        Column("failed", "Failed", "count", note="Backed out, or given up."),
        Column(
            "otherwise",
            "Ended otherwise",
            "count",
            note="Released, or taken away by an operator.",
        ),
        Column("share", "Share failed", "share"),
        Column(
            "p50",
            "Median",
            "seconds",
            note="From the get to the end, of accepted deliveries.",
        ),
        Column("p95", "95th percentile", "seconds"),
    ),
    charts=(
        Chart("Deliveries by day", "bars", "day", "deliveries", "handler"),
        Chart("Failed by day", "bars", "day", "failed", "handler"),
    ),
    totals=(
        Total(
            "every delivery is counted once", ("deliveries",), {"deliveries": "true"}
        ),
        Total(
            "every failed delivery is counted once",
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
