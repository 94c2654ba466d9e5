"""Outcomes of resubmitted dead letters.

Reads    lifelines, open   of silver
Writes   resubmits   one row for each day, queue, cause of the dead letter and kind, if
                     a copy was resubmitted or ended on that day or was open at its end

A copy that is resubmitted on Monday and accepted on Tuesday counts as resubmitted on
Monday, open at Monday's end, and accepted on Tuesday. So no day changes later, and for
any period the copies open before and those resubmitted are the copies that ended and
those still open. A day's success rate is of the copies that ended on it, whenever they
were resubmitted. A copy that an undo brings back counts as resubmitted once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import DEAD, UNKNOWN
from dashboards.reports.declaration import gettext_noop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BACK = "parent_end = 'resubmitted'"
BEGUN = f"{BACK} AND to_date(put_at) = day"
COLUMNS = (
    Column("day", gettext_noop("Day"), "day"),
    Column("queue", gettext_noop("Sent back to"), "queue"),
    Column("cause", gettext_noop("Cause"), "cause"),
    Column(
        "kind",
        gettext_noop("Sent back"),
        "text",
        note=gettext_noop("Unchanged, or edited or patched."),
    ),
    Column(
        "resubmitted",
        gettext_noop("Sent back"),
        "count",
        note=gettext_noop("On the day."),
    ),
    Column(
        "accepted",
        gettext_noop("Accepted"),
        "count",
        note=gettext_noop(
            "On this day, whenever they were resubmitted; the same for the next two"
            " columns."
        ),
    ),
    Column("died_again", gettext_noop("Dead-lettered again"), "count"),
    Column(
        "otherwise",
        gettext_noop("Ended otherwise"),
        "count",
        note=gettext_noop("Expired, removed or moved, or the resubmit was undone."),
    ),
    Column(
        "open",
        gettext_noop("Open"),
        "count",
        note=gettext_noop("Resubmitted, and without an outcome at the end of the day."),
        adds_up=False,
    ),
    Column(
        "share",
        gettext_noop("Share of success"),
        "share",
        note=gettext_noop("Of what ended on the day."),
    ),
)


@report(
    "resubmits",
    title=gettext_noop("Results of resubmits"),
    question=gettext_noop("Do resubmits help?"),
    inputs=("lifelines", "open"),
    columns=COLUMNS,
    charts=(
        Chart(gettext_noop("Sent back by day"), "bars", "day", "resubmitted", "cause"),
        Chart(gettext_noop("Accepted by day"), "bars", "day", "accepted", "cause"),
        Chart(
            gettext_noop("Dead-lettered again by day"),
            "bars",
            "day",
            "died_again",
            "cause",
        ),
    ),
    totals=(
        Total(
            gettext_noop("every resubmitted copy is counted once"),
            ("resubmitted",),
            {"lifelines": BEGUN, "open": BEGUN},
        ),
        Total(
            gettext_noop("every copy has one outcome"),
            (
                "accepted",
                "died_again",
                "otherwise",
            ),
            {"lifelines": BACK},
        ),
        Total(
            gettext_noop("every copy without an outcome yet is counted"),
            ("open",),
            {"open": BACK},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    columns = "day, queue, put_at, parent_cause, repaired"
    return inputs["open"].sparkSession.sql(
        f"""
        SELECT day, queue, coalesce(parent_cause, '{UNKNOWN}') AS cause,
            IF(repaired, 'edited', 'as it was') AS kind,
            count_if(to_date(put_at) = day) AS resubmitted,
            count_if(ended = 'accepted') AS accepted,
            count_if({DEAD}) AS died_again,
            count_if(ended <> 'accepted' AND NOT {DEAD}) AS otherwise,
            count_if(ended IS NULL) AS open,
            avg(CAST(ended = 'accepted' AS int)) AS share
        FROM (
            SELECT {columns}, ended FROM {{lifelines}} WHERE {BACK}
            UNION ALL
            SELECT {columns}, NULL FROM {{open}} WHERE {BACK}
        )
        GROUP BY ALL
        """,  # noqa: S608  # constants
        lifelines=inputs["lifelines"],
        open=inputs["open"],
    )
