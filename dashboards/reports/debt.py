"""Open dead letters at the end of each day.

Reads    lifelines, open   of silver
Writes   debt   one row for each day, origin queue and cause, if a dead letter was open
                at the day's end, or arrived or was cleared on the day

A day without any events has no rows: the numbers of the day before still hold. A dead
letter that an undo or a restore brings back counts as arrived again if that happens on
the day on which it left; on a later day it counts as an ordinary message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import LETTER, ORIGIN, seconds
from dashboards.reports.declaration import AS_OF, gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ARRIVED = f"{LETTER} AND to_date(put_at) = day"
COLUMNS = (
    Column("day", gettext_noop("Day"), "day"),
    Column("queue", gettext_noop("Origin queue"), "queue"),
    Column("cause", gettext_noop("Cause"), "cause"),
    Column(
        "open",
        gettext_noop("Open"),
        "count",
        link="state:dead origin:{queue} cause:{cause}",
        note=gettext_noop(
            "At the end of the day. The link leads to those that are open now."
        ),
        adds_up=False,
    ),
    Column(
        "arrived",
        gettext_noop("Arrived"),
        "count",
        link="origin:{queue} cause:{cause} died:{day}",
    ),
    Column(
        "cleared", gettext_noop("Cleared"), "count", note=gettext_noop("In any way.")
    ),
    Column(
        "net", gettext_noop("Net"), "count", note=gettext_noop("Arrived minus cleared.")
    ),
    Column(
        "oldest",
        gettext_noop("Oldest"),
        "seconds",
        note=gettext_noop("At the end of the day; today, when the report was made."),
    ),
)


@report(
    "debt",
    title=gettext_noop("Dead letter backlog"),
    question=gettext_noop("How many dead letters are open, and is it getting better?"),
    inputs=("lifelines", "open"),
    columns=COLUMNS,
    charts=(
        Chart(
            gettext_noop("Open at the end of the day"), "bars", "day", "open", "cause"
        ),
        Chart(gettext_noop("Arrived minus cleared"), "bars", "day", "net", "queue"),
    ),
    totals=(
        Total(
            gettext_noop("every dead letter that still waits is counted"),
            ("open",),
            {"open": LETTER},
        ),
        Total(
            gettext_noop("every new dead letter is counted once"),
            ("arrived",),
            {"lifelines": ARRIVED, "open": ARRIVED},
        ),
        Total(
            gettext_noop("every dead letter that was cleared is counted once"),
            ("cleared",),
            {"lifelines": LETTER},
        ),
    ),
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    columns = f"day, {ORIGIN} AS queue, put_cause AS cause, put_at"
    lain = seconds("put_at", "least(CAST(date_add(day, 1) AS timestamp), :as_of)")
    return inputs["open"].sparkSession.sql(
        f"""
        SELECT day, queue, cause, count_if(is_open) AS open,
            count_if(to_date(put_at) = day) AS arrived,
            count_if(NOT is_open) AS cleared,
            count_if(to_date(put_at) = day) - count_if(NOT is_open) AS net,
            max({lain}) FILTER (WHERE is_open) AS oldest
        FROM (
            SELECT {columns}, false AS is_open FROM {{lifelines}} WHERE {LETTER}
            UNION ALL
            SELECT {columns}, true FROM {{open}} WHERE {LETTER}
        )
        GROUP BY ALL
        """,  # noqa: S608  # constants
        args={"as_of": values[AS_OF]},
        lifelines=inputs["lifelines"],
        open=inputs["open"],
    )
