"""When the dead letter debt will be cleared, if the trend continues.

Reads    lifelines, open   of silver, for the last days
Writes   debt forecast     one row for each queue with dead letters in these days

The method is the Theil-Sen estimator: the change of open dead letters per day is
computed for each pair of days, and the median is the trend. So one exceptional day has
little effect. The quartiles, between which half of the pairs are, give the range. The
method knows no weekdays, releases or holidays. Days without events are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import (
    Chart,
    Column,
    Inputs,
    Parameter,
    Rows,
    Values,
    report,
)
from dashboards.reports.common_sql import LETTER, ORIGIN
from dashboards.reports.declaration import DAYS, gettext_noop
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AHEAD = 7  # the forecast is for so many days ahead; titles name them
FARTHEST = 3650  # days; for a debt that lasts longer, no day is forecast
COLUMNS = (
    Column("queue", gettext_noop("Origin queue"), "queue"),
    Column(
        "day",
        gettext_noop("Last day"),
        "day",
        note=gettext_noop("The last day with data; it may not be over yet."),
    ),
    Column(
        "open",
        gettext_noop("Open"),
        "count",
        link="state:dead origin:{queue}",
        note=gettext_noop(
            "At the end of the last day. The link leads to those open now."
        ),
    ),
    Column(
        "change",
        gettext_noop("Change"),
        "number",
        unit=gettext_noop("a day"),
        note=gettext_noop("The median."),
    ),
    Column("ahead", gettext_noop("In 7 days"), "number"),
    Column(
        "low",
        gettext_noop("At least"),
        "number",
        note=gettext_noop("With the lower quartile."),
    ),
    Column(
        "high",
        gettext_noop("At most"),
        "number",
        note=gettext_noop("With the upper quartile."),
    ),
    Column(
        "cleared_on",
        gettext_noop("Cleared on"),
        "day",
        note=gettext_noop(
            "Empty if the backlog does not fall, or would take more than ten years."
        ),
    ),
)

# For each day and origin queue: its dead letters, and those open at the end of the day.
COUNTED = f"""
    SELECT day, {ORIGIN} AS queue, count_if({LETTER}) AS letters,
        count_if({LETTER} AND is_open) AS open
    FROM (
        SELECT day, parent_queue, queue, put_cause, false AS is_open FROM {{lifelines}}
        UNION ALL
        SELECT day, parent_queue, queue, put_cause, true FROM {{open}}
    )
    GROUP BY ALL
"""  # noqa: S608  # constants


def check(inputs: Inputs, rows: Rows) -> None:
    last = max((row["day"] for row in rows), default=None)
    letters = inputs["open"].where(LETTER)
    waiting = letters.where(letters["day"] == last).count() if last else 0
    counted = sum(row["open"] for row in rows)
    require_equal(
        gettext_noop("every dead letter that still waits is counted"), counted, waiting
    )


@report(
    "debt-forecast",
    title=gettext_noop("Forecast of the dead letter backlog"),
    question=gettext_noop(
        "When will the dead letters be cleared, at the present rate?"
    ),
    inputs=("lifelines", "open"),
    parameters=(
        Parameter(
            DAYS,
            "count",
            14,
            gettext_noop("Days"),
            gettext_noop("Days that the forecast uses."),
            least=2,
            most=400,
        ),
    ),
    columns=COLUMNS,
    charts=(
        Chart(gettext_noop("Open now"), "bars", "queue", "open"),
        Chart(gettext_noop("Open in 7 days"), "bars", "queue", "ahead"),
    ),
    check=check,
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    ahead = f"IF(slopes IS NULL, NULL, greatest(0, open + {AHEAD} * slopes[{{n}}]))"
    session = inputs["open"].sparkSession
    counted = session.sql(
        COUNTED, lifelines=inputs["lifelines"], open=inputs["open"]
    ).localCheckpoint()  # computed once and kept: few rows
    return session.sql(
        f"""
        WITH known AS (SELECT DISTINCT day FROM {{counted}}),
        origin AS (SELECT DISTINCT queue FROM {{counted}} WHERE letters > 0),
        debt AS (
            SELECT queue, day, coalesce(open, 0) AS open
            FROM (SELECT * FROM known CROSS JOIN origin)
            LEFT JOIN {{counted}} USING (day, queue)
        ),
        trend AS (
            SELECT one.queue, percentile((next.open - one.open)
                / datediff(next.day, one.day), array(0.25, 0.5, 0.75)) AS slopes
            FROM debt AS one JOIN debt AS next
              ON one.queue = next.queue AND one.day < next.day
            GROUP BY ALL
        ),
        last AS (SELECT queue, max(day) AS day, max_by(open, day) AS open
                 FROM debt GROUP BY ALL)
        SELECT queue, day, open, slopes[1] AS change, {ahead.format(n=1)} AS ahead,
            {ahead.format(n=0)} AS low, {ahead.format(n=2)} AS high,
            CASE WHEN open > 0 AND open / -nullif(least(slopes[1], 0), 0) <= {FARTHEST}
                THEN date_add(day, CAST(ceil(open / -slopes[1]) AS int)) END
                AS cleared_on
        FROM last LEFT JOIN trend USING (queue)
        ORDER BY open DESC, queue
        """,  # noqa: S608  # constants
        counted=counted,
    )
