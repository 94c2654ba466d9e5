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
from dashboards.reports.declaration import gettext_noop
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
        gettext_noop("no time is shorter than a time that more messages took"),
        sum(rising),
        len(rising),
    )


@report(
    "time-to-dead-letter",
    title=gettext_noop("Time until dead-lettered"),
    question=gettext_noop("How long after its put is a message dead-lettered?"),
    inputs=("lifelines",),
    columns=(
        Column(
            "day",
            gettext_noop("Day"),
            "day",
            note=gettext_noop("On which they were dead-lettered."),
        ),
        Column("queue", gettext_noop("Queue"), "queue"),
        Column("cause", gettext_noop("Cause"), "cause"),
        Column("deaths", gettext_noop("Dead letters"), "count", link=LINK),
        Column("p50", gettext_noop("Median"), "seconds"),
        Column("p90", gettext_noop("90th percentile"), "seconds"),
        Column("p99", gettext_noop("99th percentile"), "seconds"),
        Column("longest", gettext_noop("Longest"), "seconds"),
        Column(
            "attempts",
            gettext_noop("Deliveries"),
            "number",
            note=gettext_noop("Of each message, on average."),
        ),
    ),
    charts=(
        Chart(gettext_noop("Dead letters by day"), "bars", "day", "deaths", "queue"),
    ),
    totals=(
        Total(
            gettext_noop("every dead letter is counted once"),
            ("deaths",),
            {"lifelines": DEAD},
        ),
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
    title=gettext_noop("Time to clear dead letters"),
    question=gettext_noop("How long do dead letters wait before somebody clears them?"),
    inputs=("lifelines",),
    columns=(
        Column(
            "day",
            gettext_noop("Day"),
            "day",
            note=gettext_noop("On which they were cleared."),
        ),
        Column("queue", gettext_noop("Origin queue"), "queue"),
        Column(
            "how",
            gettext_noop("How"),
            "text",
            note=gettext_noop("Accepted: a program took it and was done."),
        ),
        Column("cleared", gettext_noop("Cleared"), "count"),
        Column("p50", gettext_noop("Median"), "seconds"),
        Column("p90", gettext_noop("90th percentile"), "seconds"),
        Column("longest", gettext_noop("Longest"), "seconds"),
        Column(
            "hour",
            gettext_noop("Usual hour"),
            "count",
            unit=gettext_noop("h UTC"),
            note=gettext_noop("In which most were cleared; the earliest of several."),
            adds_up=False,
        ),
    ),
    charts=(Chart(gettext_noop("Cleared by day"), "bars", "day", "cleared", "how"),),
    totals=(
        Total(
            gettext_noop("every dead letter that was cleared is counted once"),
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
