"""Dead letters by error, with the fingerprints of similar errors merged.

Reads    lifelines   of silver, for the last days
Writes   causes      one row for each cluster of fingerprints and origin queue

error_clusters.py defines which errors are similar.

A row is of one queue, so that nobody sees errors of queues that they may not see.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
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
from dashboards.reports.common_sql import DEAD
from dashboards.reports.declaration import AS_OF, DAYS, gettext_noop
from dashboards.reports.error_clusters import bare, letters
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    Column(
        "cluster",
        gettext_noop("Similar errors"),
        "fingerprint",
        note=gettext_noop(
            "The most frequent fingerprint of similar errors, on all queues."
        ),
    ),
    Column(
        "queue",
        gettext_noop("Queue"),
        "queue",
        note=gettext_noop("The queue they come from."),
    ),
    Column(
        "label",
        gettext_noop("Error"),
        "text",
        note=gettext_noop("The error without its variable parts."),
    ),
    Column(
        "error",
        gettext_noop("Example"),
        "text",
        note=gettext_noop("The last one on this queue."),
    ),
    Column(
        "fingerprint",
        gettext_noop("Fingerprint"),
        "fingerprint",
        link="origin:{queue} fingerprint:{fingerprint}",
        note=gettext_noop(
            "The most frequent error text among these similar errors on this queue."
        ),
    ),
    Column(
        "fingerprints",
        gettext_noop("Fingerprints"),
        "count",
        note=gettext_noop("In the group, on this queue."),
        adds_up=False,
    ),
    Column("causes", gettext_noop("Causes"), "text"),
    Column(
        "queues",
        gettext_noop("Queues"),
        "count",
        note=gettext_noop("With errors of the group."),
        adds_up=False,
    ),
    Column(
        "dead_letters",
        gettext_noop("Dead letters"),
        "count",
        note=gettext_noop("On this queue."),
    ),
    Column(
        "first_at", gettext_noop("First"), "moment", note=gettext_noop("In the period.")
    ),
    Column("last_at", gettext_noop("Last"), "moment"),
    Column(
        "former",
        gettext_noop("First half"),
        "count",
        note=gettext_noop("Of the period."),
    ),
    Column("latter", gettext_noop("Second half"), "count"),
    Column(
        "change",
        gettext_noop("Change"),
        "count",
        note=gettext_noop("The second half of the period minus the first."),
    ),
)


def check(inputs: Inputs, rows: Rows) -> None:
    died = inputs["lifelines"].where(DEAD).count()
    counted = sum(row["dead_letters"] for row in rows)
    require_equal(gettext_noop("every dead letter is counted once"), counted, died)
    halves = sum(row["former"] + row["latter"] for row in rows)
    require_equal(
        gettext_noop("every dead letter is in one half of the period"), halves, died
    )


def middle(values: Values) -> datetime:
    """The middle of the period."""
    end: datetime = values[AS_OF]
    first = end.astimezone(UTC).date() - timedelta(days=values[DAYS] - 1)
    begin = datetime.combine(first, time(), UTC)
    return begin + (end - begin) / 2


@report(
    "causes",
    title=gettext_noop("Causes of dead letters"),
    question=gettext_noop("Which errors are the most frequent, and do they grow?"),
    inputs=("lifelines",),
    parameters=(
        Parameter(
            DAYS,
            "count",
            30,
            gettext_noop("Days"),
            gettext_noop("Up to now."),
            least=1,
            most=400,
        ),
    ),
    columns=COLUMNS,
    charts=(
        Chart(
            gettext_noop("Dead letters by group of similar errors"),
            "bars",
            "cluster",
            "dead_letters",
            "queue",
        ),
    ),
    check=check,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    letter = letters(inputs["lifelines"])
    return letter.sparkSession.sql(
        f"""
        SELECT cluster, queue,
            {bare("max_by(error, struct(ended_at, message_id))")} AS label,
            coalesce(max_by(error, struct(ended_at, message_id)), '') AS error,
            mode(fingerprint, true) AS fingerprint,
            count(DISTINCT fingerprint) AS fingerprints,
            array_join(array_sort(collect_set(cause)), ', ') AS causes,
            count(*) OVER (PARTITION BY cluster) AS queues,
            count(*) AS dead_letters,
            min(ended_at) AS first_at, max(ended_at) AS last_at,
            count_if(ended_at < :middle) AS former,
            count_if(ended_at >= :middle) AS latter,
            count_if(ended_at >= :middle) - count_if(ended_at < :middle) AS change
        FROM {{letter}} GROUP BY cluster, queue
        ORDER BY dead_letters DESC, cluster, queue
        """,  # noqa: S608  # constants
        args={"middle": middle(values)},
        letter=letter,
    )
