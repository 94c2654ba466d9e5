"""Activity on each queue in each minute.

Reads    lifelines, open, deliveries   of silver
Writes   throughput   one row for each queue and minute with any activity
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import DEAD
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEEDS = """
    SELECT queue, put_at AS at, 'put' AS deed FROM {lifelines}
    WHERE began = 'put' AND to_date(put_at) = day
    UNION ALL
    SELECT queue, put_at, 'put' FROM {open}
    WHERE began = 'put' AND to_date(put_at) = day
    UNION ALL
    SELECT queue, got_at, 'got' FROM {deliveries} WHERE to_date(got_at) = day
    UNION ALL
    SELECT queue, got_at, 'got' FROM {open}
    WHERE place = 'claimed' AND to_date(got_at) = day
    UNION ALL
    SELECT queue, ended_at, outcome FROM {deliveries} WHERE outcome <> 'dead-lettered'
    UNION ALL
    SELECT queue, ended_at, ended FROM {lifelines} WHERE ended = 'dead-lettered'
"""
COUNTED = {
    "put": "put",
    "got": "got",
    "accepted": "accepted",
    "backed_out": "backed out",
    "dead_lettered": "dead-lettered",
}


@report(
    "throughput",
    title=gettext_noop("Throughput by queue and minute"),
    question=gettext_noop("How many messages pass each queue, and are they processed?"),
    inputs=("deliveries", "lifelines", "open"),
    columns=(
        Column("day", gettext_noop("Day"), "day"),
        Column("minute", gettext_noop("Minute"), "moment", unit="minute"),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column("put", gettext_noop("Put"), "count", link="queue:{queue} at:{minute}"),
        Column("got", gettext_noop("Got"), "count"),
        Column("accepted", gettext_noop("Accepted"), "count"),
        Column("backed_out", gettext_noop("Backed out"), "count"),
        Column(
            "dead_lettered",
            gettext_noop("Became dead letters"),
            "count",
            link="origin:{queue} died:{minute}",
        ),
    ),
    charts=(
        Chart(gettext_noop("Put"), "lines", "minute", "put", "queue"),
        Chart(gettext_noop("Accepted"), "lines", "minute", "accepted", "queue"),
    ),
    keep_days=30,
    totals=(
        Total(
            gettext_noop("every delivery that was accepted is counted once"),
            ("accepted",),
            {"deliveries": "outcome = 'accepted'"},
        ),
        Total(
            gettext_noop("every delivery that was backed out is counted once"),
            ("backed_out",),
            {"deliveries": "outcome = 'backed out'"},
        ),
        Total(
            gettext_noop("every dead letter is counted once"),
            ("dead_lettered",),
            {"lifelines": DEAD},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    counts = ", ".join(
        f"count_if(deed = '{word}') AS {column}" for column, word in COUNTED.items()
    )
    return inputs["open"].sparkSession.sql(
        f"""
        SELECT to_date(minute) AS day, minute, queue, {counts}
        FROM (SELECT date_trunc('minute', at) AS minute, queue, deed FROM ({DEEDS}))
        WHERE deed IN ('put', 'got', 'accepted', 'backed out', 'dead-lettered')
        GROUP BY ALL
        """,  # noqa: S608  # constants
        deliveries=inputs["deliveries"],
        lifelines=inputs["lifelines"],
        open=inputs["open"],
    )
