"""A summary of the last hours for the next shift.

Reads    lifelines, open, deliveries   of silver, all days
Writes   handover   rows of six kinds, by the column ``what``

    arrived             messages that were put, by queue; also resubmitted ones
    dead-lettered       dead letters, by queue and cause
    cleared             dead letters that were cleared, by origin queue and how
    new cause           errors with a fingerprint that was never seen before the period
    open dead letters   dead letters open at its end, by origin queue and cause
    waiting             queues with more messages than at the beginning of the period

Each number has beside it that of the period of the same length before; messages that
wait, that at the beginning. Stays without a known beginning count as older.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dashboards.reports import Column, Inputs, Parameter, Rows, Values, report
from dashboards.reports.common_sql import CAUSE, DEAD, LETTER, ORIGIN
from dashboards.reports.declaration import AS_OF, gettext_noop
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HOURS = "hours"
MOST = 50  # the most new causes that are listed: the most frequent

# Stays that overlap the period of the report or the period before it.
STAYS = f"""
    SELECT queue, {ORIGIN} AS origin, began, put_at, put_cause, ended, ended_at,
        {CAUSE} AS cause
    FROM {{lifelines}} WHERE ended_at > :before
    UNION ALL
    SELECT queue, {ORIGIN}, began, put_at, put_cause, NULL, NULL, NULL
    FROM {{open}} WHERE day = (SELECT max(day) FROM known)
"""  # noqa: S608  # constants
FAILURES = f"""
    SELECT queue, message_id, cause, fingerprint, error, ended_at
    FROM {{deliveries}} WHERE failed AND fingerprint IS NOT NULL
    UNION
    SELECT queue, message_id, cause, fingerprint, error, ended_at
    FROM {{lifelines}} WHERE {DEAD} AND fingerprint IS NOT NULL
"""  # noqa: S608  # constants
NONE = "CAST(NULL AS string)"


def during(moment: str) -> str:
    """SQL for the counts of the period and of the period before, and for the first and
    the last time in the period.
    """
    return f"""count_if({moment} > :since) AS count,
        count_if({moment} <= :since) AS before,
        min({moment}) FILTER (WHERE {moment} > :since) AS first_at,
        max({moment}) FILTER (WHERE {moment} > :since) AS last_at"""


def lasting(moment: str) -> str:
    """SQL for whether a stay was open at a time."""
    return f"coalesce(put_at <= {moment}, true) AND coalesce(ended_at > {moment}, true)"


PARTS = f"""
    SELECT 1 AS part, 'arrived' AS what, queue, {NONE} AS cause, {NONE} AS how,
        {NONE} AS fingerprint, {NONE} AS error, {during("put_at")}
    FROM stay WHERE began = 'put' AND put_at > :before AND NOT {LETTER} GROUP BY queue
    UNION ALL
    SELECT 2, 'dead-lettered', queue, cause,
        {NONE}, {NONE}, {NONE}, {during("ended_at")}
    FROM stay WHERE {DEAD} GROUP BY queue, cause
    UNION ALL
    SELECT 3, 'cleared', origin, {NONE}, ended, {NONE}, {NONE}, {during("ended_at")}
    FROM stay WHERE {LETTER} AND ended_at IS NOT NULL GROUP BY origin, ended
    UNION ALL
    (SELECT 4, 'new cause', queue, max(cause), {NONE}, fingerprint,
        max_by(error, struct(ended_at, message_id)), count(DISTINCT message_id), 0,
        min(ended_at), max(ended_at)
    FROM failure WHERE fingerprint NOT IN (
        SELECT fingerprint FROM failure WHERE ended_at <= :since)
    GROUP BY queue, fingerprint ORDER BY 8 DESC, 6, 3 LIMIT {MOST})
    UNION ALL
    SELECT 5, 'open dead letters', origin, put_cause, {NONE}, {NONE}, {NONE},
        count_if(ended_at IS NULL), count_if({lasting(":since")}),
        min(put_at) FILTER (WHERE ended_at IS NULL),
        max(put_at) FILTER (WHERE ended_at IS NULL)
    FROM stay WHERE {LETTER} GROUP BY origin, put_cause
    UNION ALL
    SELECT 6, 'waiting', queue, {NONE}, {NONE}, {NONE}, {NONE},
        count_if(ended_at IS NULL) AS now, count_if({lasting(":since")}) AS then,
        min(put_at) FILTER (WHERE ended_at IS NULL),
        max(put_at) FILTER (WHERE ended_at IS NULL)
    FROM stay WHERE NOT {LETTER} GROUP BY queue HAVING now > then
"""  # noqa: S608  # constants
COLUMNS = (
    Column(
        "since",
        gettext_noop("Since"),
        "moment",
        note=gettext_noop("The beginning of the period."),
    ),
    Column("what", gettext_noop("What"), "text"),
    Column(
        "queue",
        gettext_noop("Queue"),
        "queue",
        note=gettext_noop("Of dead letters: their origin queue."),
    ),
    Column("cause", gettext_noop("Cause"), "cause"),
    Column(
        "how",
        gettext_noop("How"),
        "text",
        note=gettext_noop("How dead letters were cleared."),
    ),
    Column(
        "fingerprint",
        gettext_noop("Fingerprint"),
        "fingerprint",
        link="origin:{queue} fingerprint:{fingerprint}",
    ),
    Column(
        "error",
        gettext_noop("Error"),
        "text",
        note=gettext_noop("The last dead letter of this error (the same fingerprint)."),
    ),
    Column("count", gettext_noop("Messages"), "count", adds_up=False),
    Column(
        "before",
        gettext_noop("Before"),
        "count",
        note=gettext_noop(
            "In the period of the same length before; for what still waits: at its"
            " beginning."
        ),
        adds_up=False,
    ),
    Column(
        "first_at",
        gettext_noop("First"),
        "moment",
        note=gettext_noop(
            "When it happened in the period; for what still waits: when it was put."
        ),
    ),
    Column("last_at", gettext_noop("Last"), "moment"),
)


def check(inputs: Inputs, rows: Rows) -> None:
    """Check the sums against lifelines and open stays."""

    def total(what: str) -> int:
        return sum(row["count"] for row in rows if row["what"] == what)

    if not rows:
        return
    lifelines, going_on = inputs["lifelines"], inputs["open"]
    ended = lifelines.where(lifelines["ended_at"] > rows[0]["since"])
    died = ended.where(DEAD).count()
    require_equal(
        gettext_noop("every dead letter is counted once"), total("dead-lettered"), died
    )
    cleared = ended.where(LETTER).count()
    require_equal(
        gettext_noop("every dead letter that was cleared is counted once"),
        total("cleared"),
        cleared,
    )
    days = lifelines.select("day").union(going_on.select("day"))
    last = days.selectExpr("max(day)").head()
    assert last
    waiting = going_on.where(LETTER).where(going_on["day"] == last[0]).count()
    require_equal(
        gettext_noop("every dead letter that still waits is counted"),
        total("open dead letters"),
        waiting,
    )


@report(
    "handover",
    title=gettext_noop("Shift handover"),
    question=gettext_noop("What happened in the last hours, and what is left to do?"),
    inputs=("deliveries", "lifelines", "open"),
    parameters=(
        Parameter(
            HOURS,
            "count",
            12,
            gettext_noop("Hours"),
            gettext_noop("Up to now."),
            least=1,
            most=24 * 31,
        ),
    ),
    columns=COLUMNS,
    check=check,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    length = timedelta(hours=values[HOURS])
    since = values[AS_OF] - length
    return inputs["open"].sparkSession.sql(
        f"""
        WITH known AS (SELECT day FROM {{lifelines}} UNION SELECT day FROM {{open}}),
        stay AS ({STAYS}),
        failure AS ({FAILURES})
        SELECT :since AS since, what, queue, cause, how, fingerprint, error, count,
            before, first_at, last_at
        FROM ({PARTS})
        WHERE count > 0 OR before > 0
        ORDER BY part, count DESC, queue, cause, how, fingerprint
        """,  # noqa: S608  # constants
        args={"since": since, "before": since - length},
        deliveries=inputs["deliveries"],
        lifelines=inputs["lifelines"],
        open=inputs["open"],
    )
