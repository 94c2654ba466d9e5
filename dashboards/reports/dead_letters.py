"""Dead letters by queue, cause and day.

Reads    events        rows of the journal; see ``EVENTS``
Writes   dead letters  one row for each day, queue and cause; see ``REPORT``

Days are the session's; ``session.py`` sets it to UTC. The queue is the one the entry
died on, not the one its copy went to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dashboards.reports import report
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = """
    at timestamp, kind smallint, queue_id int, queue string, n int, ids array<bigint>,
    detail string
"""
REPORT = """
    day date, queue string, cause string, dead_letters bigint, last_at timestamp
"""

DEAD_LETTER = 7  # broker.models.Kind, which needs Django; a test holds them together
UNKNOWN = "UNKNOWN"  # an event that does not say why


def check(events: DataFrame, rows: Sequence[Mapping[str, Any]]) -> None:
    """Hold the report to the journal's own counts, and to each entry's one death."""
    journal = dead(events).selectExpr("coalesce(sum(n), 0) AS entries").head()
    silver = deaths(events).selectExpr(
        "count(*) AS rows", "count(DISTINCT queue_id, message_id) AS entries"
    )
    found = silver.head()
    assert journal
    assert found
    require_equal("every dead letter of the journal is read", found[0], journal[0])
    require_equal("every entry dies once", found[1], found[0])
    counted = sum(row["dead_letters"] for row in rows)
    require_equal("every dead letter is counted once", counted, found[0])


@report(
    "dead-letters",
    title="Dead letters by queue, cause and day",
    question="Which queues lose messages, to what, and is it getting better?",
    table="dashboards.DeadLetterDay",
    check=check,
)
def build(events: DataFrame) -> DataFrame:
    """Rows of ``REPORT``, in no order."""
    return events.sparkSession.sql(
        """
        SELECT day, queue, cause, count(*) AS dead_letters, max(at) AS last_at
        FROM {deaths}
        GROUP BY day, queue, cause
        """,
        deaths=deaths(events),
    )


def deaths(events: DataFrame) -> DataFrame:
    """One row for each entry that died.

    A queue that was deleted before its events were archived has lost its name.
    """
    return dead(events).selectExpr(
        "to_date(at) AS day",
        "at",
        "queue_id",
        "coalesce(queue, concat('deleted queue ', queue_id)) AS queue",
        f"coalesce(get_json_object(detail, '$.cause'), '{UNKNOWN}') AS cause",
        "explode(ids) AS message_id",
    )


def dead(events: DataFrame) -> DataFrame:
    return events.where(f"kind = {DEAD_LETTER}")
