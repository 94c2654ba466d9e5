"""How long dead letters wait until they are cleared.

Reads    lifelines       of silver
Writes   time to clear   one row for each day, origin queue, and way of clearing

A dead letter is cleared when its stay on the dead letter queue ends for any reason:
resubmitted, removed, moved, expired, discarded, got by a program, or because the
dead-lettering was undone. If an undo or a restore brings a letter back on the day on
which it left, it starts again as a dead letter; on a later day it counts as an ordinary
message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Rows, Values, report
from dashboards.reports.common_sql import LETTER, ORIGIN, seconds, spread
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check(inputs: Inputs, rows: Rows) -> None:
    counted = sum(row["cleared"] for row in rows)
    ended = inputs["lifelines"].where(LETTER).count()
    require_equal("every dead letter is cleared once", counted, ended)


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
        Column("p50", "Half within", "seconds"),
        Column("p90", "9 of 10 within", "seconds"),
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
    check=check,
)
def build(inputs: Inputs, _: Values) -> DataFrame:
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
