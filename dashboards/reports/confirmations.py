"""Confirmations that senders asked for: of arrival (COA) and of delivery (COD).

Reads    lifelines, open   of silver; messages
Writes   confirmations     one row for each day and queue that has any

A confirmation is a report message. It is sent in the transaction of the put (COA) or of
the accept (COD), to the reply-to queue of its message. So a queue's row has what was
asked there, and the confirmations that arrived there for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors.mq_codes import Feedback, Report
from dashboards.reports import Chart, Column, Inputs, Rows, Values, report
from dashboards.reports.common_sql import broadcast_few
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COA, COD = int(Report.COA_WITH_FULL_DATA), int(Report.COD_WITH_FULL_DATA)
# Fields are known of messages that were put up to so many days before the period:
# ``pipeline.sources`` reads no older ones. A note names the number.
KNOWN_DAYS = 7
SENT = f"feedback IN ({int(Feedback.COA)}, {int(Feedback.COD)})"
# The messages that ask for confirmations, and the confirmations.
KNOWN = f"""
    SELECT message_id, CAST(at AS date) AS from_day, feedback,
        coalesce(report & {COA} <> 0, false) AS coa,
        coalesce(report & {COD} <> 0, false) AS cod
    FROM {{messages}} WHERE {SENT} OR report & {COA | COD} <> 0
"""  # noqa: S608  # constants
FIRST = "began = 'put' AND parent_message_id IS NULL AND CAST(put_at AS date) = day"
COUNTS = (
    "coa_asked", "coa_sent", "cod_asked", "cod_due", "cod_sent", "outstanding",
)  # fmt: skip
COLUMNS = (
    Column("day", gettext_noop("Day"), "day"),
    Column("queue", gettext_noop("Queue"), "queue"),
    Column(
        "coa_asked",
        gettext_noop("Arrival (COA): requested"),
        "count",
        note=gettext_noop(
            "Messages that were put here and ask for a confirmation of arrival."
        ),
    ),
    Column(
        "coa_sent",
        gettext_noop("Arrival (COA): received here"),
        "count",
        note=gettext_noop(
            "Confirmations of arrival that were put on this queue: it is the reply-to"
            " queue, or the dead letter queue if that refused them."
        ),
    ),
    Column(
        "cod_asked",
        gettext_noop("Delivery (COD): requested"),
        "count",
        note=gettext_noop(
            "Messages that were put here and ask for a confirmation of delivery."
        ),
    ),
    Column(
        "cod_due",
        gettext_noop("Delivery: accepted"),
        "count",
        note=gettext_noop(
            "Of the messages that ask for it, those that were accepted on the day;"
            " each is confirmed in the same transaction."
        ),
    ),
    Column(
        "cod_sent",
        gettext_noop("Delivery (COD): received here"),
        "count",
        note=gettext_noop("Confirmations of delivery that were put on this queue."),
    ),
    Column(
        "outstanding",
        gettext_noop("Outstanding"),
        "count",
        note=gettext_noop(
            "Messages that ask for a confirmation of delivery and were on the queue at"
            " the end of the day, of those put in the 7 days before."
        ),
        adds_up=False,
    ),
    Column("oldest", gettext_noop("Oldest outstanding"), "seconds"),
)


def check(inputs: Inputs, rows: Rows) -> None:
    """Check the confirmations that arrived against the fields of messages."""
    sent = inputs["messages"].where(SENT).select("message_id").localCheckpoint()
    found = sent.sparkSession.sql(
        f"""
        SELECT {broadcast_few("sent", sent)} sent.message_id FROM (
            SELECT message_id FROM {{lifelines}} WHERE {FIRST} UNION ALL
            SELECT message_id FROM {{open}} WHERE {FIRST}
        ) JOIN {{sent}} AS sent USING (message_id)
        """,  # noqa: S608  # constants
        sent=sent,
        lifelines=inputs["lifelines"],
        open=inputs["open"],
    ).count()
    counted = sum(row["coa_sent"] + row["cod_sent"] for row in rows)
    require_equal(gettext_noop("every confirmation is counted once"), counted, found)


@report(
    "confirmations",
    title=gettext_noop("Confirmations of arrival and delivery by queue and day"),
    question=gettext_noop(
        "Which confirmations that senders asked for were sent, and which not yet?"
    ),
    inputs=("lifelines", "open", "messages"),
    columns=COLUMNS,
    charts=(
        Chart(
            gettext_noop("Deliveries accepted by day"),
            "bars",
            "day",
            "cod_due",
            "queue",
        ),
        Chart(
            gettext_noop("Outstanding by day"), "lines", "day", "outstanding", "queue"
        ),
    ),
    check=check,
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    session = inputs["open"].sparkSession
    known = session.sql(KNOWN, messages=inputs["messages"]).localCheckpoint()
    return session.sql(
        f"""
        WITH stays AS (
            SELECT day, queue, message_id, put_at, put_cause, {FIRST} AS is_first,
                ended = 'accepted' AS is_accepted, false AS is_open FROM {{lifelines}}
            UNION ALL
            SELECT day, queue, message_id, put_at, put_cause, {FIRST}, false, true
            FROM {{open}}
        ),
        told AS (
            SELECT {broadcast_few("known", known)} day, queue,
                count_if(is_first AND coa) AS coa_asked,
                count_if(is_first AND feedback = {int(Feedback.COA)}) AS coa_sent,
                count_if(is_first AND cod) AS cod_asked,
                count_if(is_accepted AND cod) AS cod_due,
                count_if(is_first AND feedback = {int(Feedback.COD)}) AS cod_sent,
                count_if(is_open AND cod) AS outstanding,
                max(IF(is_open AND cod, unix_seconds(CAST(day + 1 AS timestamp))
                    - unix_micros(put_at) / 1e6, NULL)) AS oldest
            FROM stays JOIN {{known}} AS known USING (message_id)
            WHERE (put_cause IS NULL OR feedback IS NOT NULL)
                AND from_day >= day - {KNOWN_DAYS}
            GROUP BY ALL
        )
        SELECT * FROM told WHERE {" + ".join(COUNTS)} > 0
        """,  # noqa: S608  # constants
        lifelines=inputs["lifelines"],
        open=inputs["open"],
        known=known,
    )
