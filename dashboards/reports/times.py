"""How long it takes until a message is dead-lettered, and until that is cleared.

Reads    lifelines             of silver
Writes   time to dead letter   one row for each day, queue and cause
         time to clear         one row for each day, origin queue, and way of clearing

The time to a dead letter is from the put on the queue to the dead-lettering there; a
resubmitted copy starts again. If the put is older than the archive, the time is not
known, and only the dead letter is counted.

A dead letter is cleared when its stay on the dead letter queue ends for any reason:
resubmitted, removed, moved, expired, discarded, got by a program, or because the
dead-lettering was undone. If an undo or a restore brings a letter back on the day on
which it left, it starts again as a dead letter; on a later day it counts as an ordinary
message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Rows, Total, Values, report
from dashboards.reports.common_sql import CAUSE, DEAD, LETTER, ORIGIN, seconds, spread
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LINK = "origin:{queue} cause:{cause} died:{day}"


def check_deaths(_: Inputs, rows: Rows) -> None:
    rising = [
        row["p50"] <= row["p90"] <= row["p99"] <= row["longest"]
        for row in rows
        if row["longest"] is not None
    ]
    require_equal(
        "no time is shorter than a time that more messages took",
        sum(rising),
        len(rising),
    )


@report(
    "time-to-dead-letter",
    title="Time until dead-lettered",
    question="How long after its put is a message dead-lettered?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day", note="On which they were dead-lettered."),
        Column("queue", "Queue", "queue"),
        Column("cause", "Cause", "cause"),
        Column("deaths", "Dead letters", "count", link=LINK),
        Column("p50", "Median", "seconds"),
        Column("p90", "90th percentile", "seconds"),
        Column("p99", "99th percentile", "seconds"),
        Column("longest", "Longest", "seconds"),
        Column("attempts", "Deliveries", "number", note="Of each message, on average."),
    ),
    charts=(Chart("Dead letters by day", "bars", "day", "deaths", "queue"),),
    totals=(
        Total("every dead letter is counted once", ("deaths",), {"lifelines": DEAD}),
    ),
    check=check_deaths,
)
def build_deaths(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    taken = seconds("put_at", "ended_at")
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, queue, {CAUSE} AS cause, count(*) AS deaths,
            {spread(taken, 50, 90, 99)}, max({taken}) AS longest,
            avg(deliveries) AS attempts
        FROM {{lifelines}} WHERE {DEAD} GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=lifelines,
    )


@report(
    "time-to-clear",
    title="Time to clear dead letters",
    question="How long do dead letters wait before somebody clears them?",
    inputs=("lifelines",),
    columns=(
        Column("day", "Day", "day", note="On which they were cleared."),
        Column("queue", "Origin queue", "queue"),
        Column("how", "How", "text", note="Accepted: a program took it and was done."),
        Column("cleared", "Cleared", "count"),
        Column("p50", "Median", "seconds"),
        Column("p90", "90th percentile", "seconds"),
        Column("longest", "Longest", "seconds"),
        Column(
            "hour",
            "Usual hour",
            "count",
            unit="h UTC",
            note="In which most were cleared; the earliest of several.",
            adds_up=False,
        ),
    ),
    charts=(Chart("Cleared by day", "bars", "day", "cleared", "how"),),
    totals=(
        Total(
            "every dead letter that was cleared is counted once",
            ("cleared",),
            {"lifelines": LETTER},
        ),
    ),
)
def build_cleared(inputs: Inputs, _: Values) -> DataFrame:
    lifelines = inputs["lifelines"]
    lain = seconds("put_at", "ended_at")
    return lifelines.sparkSession.sql(
        f"""
        SELECT day, {ORIGIN} AS queue, ended AS how, count(*) AS cleared,
            {spread(lain, 50, 90)}, max({lain}) AS longest,
            mode(hour(ended_at), true) AS hour
        FROM {{lifelines}} WHERE {LETTER} GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=lifelines,
    )
