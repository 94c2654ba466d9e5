"""Activity on each queue in each minute.

Reads    lifelines, open, deliveries   of silver
Writes   throughput   one row for each queue and minute with any activity
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import DEAD

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
    title="Throughput by queue and minute",
    question="How many messages pass each queue, and are they processed?",
    inputs=("deliveries", "lifelines", "open"),
    columns=(
        Column("day", "Day", "day"),
        Column("minute", "Minute", "moment", unit="minute"),
        Column("queue", "Queue", "queue"),
        Column("put", "Put", "count", link="queue:{queue} at:{minute}"),
        Column("got", "Got", "count"),
        Column("accepted", "Accepted", "count"),
        Column("backed_out", "Backed out", "count"),
        Column(
            "dead_lettered",
            "Became dead letters",
            "count",
            link="origin:{queue} died:{minute}",
        ),
    ),
    charts=(
        Chart("Put", "lines", "minute", "put", "queue"),
        Chart("Accepted", "lines", "minute", "accepted", "queue"),
    ),
    keep_days=30,
    totals=(
        Total(
            "every delivery that was accepted is counted once",
            ("accepted",),
            {"deliveries": "outcome = 'accepted'"},
        ),
        Total(
            "every delivery that was backed out is counted once",
            ("backed_out",),
            {"deliveries": "outcome = 'backed out'"},
        ),
        Total(
            "every dead letter is counted once", ("dead_lettered",), {"lifelines": DEAD}
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
