"""The cost of failed deliveries, and how many messages redelivery rescues.

Reads    deliveries, lifelines   of silver
Writes   redelivery   one row for each day and queue with deliveries, or failed entries

Deliveries count on the day on which they ended, entries on the day on which their stay
on the queue ended: an entry that failed on Monday and was accepted on Tuesday counts as
rescued on Tuesday. So days can be added up, and no day changes afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import DEAD, seconds
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RESCUED = "rescued_1", "rescued_2", "rescued_3", "rescued_4"
COLUMNS = (
    Column("day", gettext_noop("Day"), "day"),
    Column("queue", gettext_noop("Queue"), "queue"),
    Column(
        "deliveries",
        gettext_noop("Deliveries"),
        "count",
        note=gettext_noop("Those that ended on the day."),
    ),
    Column(
        "failed_deliveries",
        gettext_noop("Failed"),
        "count",
        note=gettext_noop("Of these deliveries."),
    ),
    Column(
        "held_s",
        gettext_noop("Time in failed deliveries"),
        "seconds",
        note=gettext_noop("How long consumers held the messages in failed deliveries."),
    ),
    Column(
        "delayed_s",
        gettext_noop("Delays"),
        "seconds",
        note=gettext_noop(
            "After failed deliveries, as scheduled: an operator may have cut some"
            " short."
        ),
    ),
    Column(
        "failed_entries",
        gettext_noop("Messages that failed"),
        "count",
        note=gettext_noop(
            "Messages that failed at least once, and left the queue on that day."
        ),
    ),
    Column("rescued", gettext_noop("Accepted after a failure"), "count"),
    Column("rescued_1", gettext_noop("After 1 failure"), "count"),
    Column("rescued_2", gettext_noop("After 2"), "count"),
    Column("rescued_3", gettext_noop("After 3"), "count"),
    Column("rescued_4", gettext_noop("After 4 or more"), "count"),
    Column("died", gettext_noop("Became dead letters"), "count"),
    Column(
        "otherwise",
        gettext_noop("Ended otherwise"),
        "count",
        note=gettext_noop("They expired, or an operator or a program removed them."),
    ),
    Column(
        "share",
        gettext_noop("Share accepted after a failure"),
        "share",
        note=gettext_noop(
            "Of the messages that failed and left the queue on that day."
        ),
    ),
)


@report(
    "redelivery",
    title=gettext_noop("Redelivery by queue and day"),
    question=gettext_noop(
        "What do failed deliveries cost, and do they help in the end?"
    ),
    inputs=("deliveries", "lifelines"),
    columns=COLUMNS,
    charts=(
        Chart(
            gettext_noop("Failed deliveries by day"),
            "bars",
            "day",
            "failed_deliveries",
            "queue",
        ),
        Chart(
            gettext_noop("Accepted after a failure, by day"),
            "bars",
            "day",
            "rescued",
            "queue",
        ),
        Chart(
            gettext_noop("Time in failed deliveries by day"),
            "lines",
            "day",
            "held_s",
            "queue",
            "seconds",
        ),
    ),
    totals=(
        Total(
            gettext_noop("every delivery is counted once"),
            ("deliveries",),
            {"deliveries": "true"},
        ),
        Total(
            gettext_noop("every failed delivery is counted once"),
            ("failed_deliveries",),
            {"deliveries": "failed"},
        ),
        Total(
            gettext_noop("every message that failed is counted once"),
            ("failed_entries",),
            {"lifelines": "failed > 0"},
        ),
        Total(
            gettext_noop("every message that failed has one outcome"),
            (
                "rescued",
                "died",
                "otherwise",
            ),
            {"lifelines": "failed > 0"},
        ),
        Total(
            gettext_noop("every message that was processed at last had failed before"),
            RESCUED,
            {"lifelines": "failed > 0 AND ended = 'accepted'"},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    after = ", ".join(
        f"count_if(ended = 'accepted' AND least(failed, 4) = {n}) AS {column}"
        for n, column in enumerate(RESCUED, 1)
    )
    tried = ("deliveries", "failed_deliveries", "held_s", "delayed_s")
    counted = (*tried, "failed_entries", "rescued", *RESCUED, "died", "otherwise")
    columns = ", ".join(f"coalesce({column}, 0) AS {column}" for column in counted)
    return inputs["lifelines"].sparkSession.sql(
        f"""
        WITH tried AS (
            SELECT day, queue, count(*) AS deliveries,
                count_if(failed) AS failed_deliveries,
                sum({seconds("got_at", "ended_at")}) FILTER (WHERE failed) AS held_s,
                sum({seconds("ended_at", "next_due_at")}) FILTER (WHERE failed)
                    AS delayed_s
            FROM {{deliveries}} GROUP BY ALL
        ),
        entries AS (
            SELECT day, queue, count(*) AS failed_entries,
                count_if(ended = 'accepted') AS rescued, {after},
                count_if({DEAD}) AS died,
                count_if(ended <> 'accepted' AND NOT {DEAD}) AS otherwise
            FROM {{lifelines}} WHERE failed > 0 GROUP BY ALL
        )
        SELECT day, queue, {columns}, rescued / failed_entries AS share
        FROM tried FULL JOIN entries USING (day, queue)
        """,  # noqa: S608  # constants
        deliveries=inputs["deliveries"],
        lifelines=inputs["lifelines"],
    )
