"""Messages that bridge links transferred, failed to transfer, or skipped.

Reads    transfers          of silver
Writes   bridge transfers   one row for each day, link, and local queue of the link

If both ends of a link are local, a transfer has two events and is counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FAILURES = {
    "failed_transformer": "TRANSFORMER_FAILURE",
    "failed_send": "SEND_FAILURE",
    "failed_acknowledge": "ACK_FAILURE",
    "failed_commit": "COMMIT_FAILURE",
}
OUTCOMES = {  # outcomes by column: each counted message has one
    "transferred": "TRANSFERRED",
    "branched": "BRANCHED",
    "not_transferred": "NOT_TRANSFERRED",
    "expired": "MESSAGE_EXPIRED",
    **FAILURES,
    "duplicates": "DUPLICATE",
    "looped": "LOOPED",
}
ARRIVED = "outcome IN ('TRANSFERRED', 'BRANCHED')"
COLUMNS = (
    Column("day", "Day", "day"),
    Column("link", "Link", "text"),
    Column(
        "queue",
        "Queue here",
        "queue",
        note="The source; for messages from elsewhere: the target or the dead message"
        " queue.",
    ),
    Column("transferred", "Transferred", "count", note="To the target of the link."),
    Column(
        "branched",
        "Branched",
        "count",
        note="Transferred to another destination, as a transformer decided.",
    ),
    Column(
        "transformed",
        "Transformed",
        "count",
        note="Messages that a transformer changed; each is also counted in another"
        " column.",
    ),
    Column(
        "not_transferred",
        "Not transferred",
        "count",
        note="Taken from the source and not sent, as a transformer decided.",
    ),
    Column("expired", "Expired", "count", note="At the source, before they were sent."),
    Column(
        "failed", "Failed", "count", note="The four columns after it are of this field."
    ),
    Column("failed_transformer", "Transformer failed", "count"),
    Column("failed_send", "Send failed", "count"),
    Column(
        "failed_acknowledge",
        "Acknowledge failed",
        "count",
        note="The target has them, and may get them a second time.",
    ),
    Column(
        "failed_commit",
        "Commit failed",
        "count",
        note="In doubt: the target has them, or the source still has them.",
    ),
    Column(
        "duplicates",
        "Duplicates",
        "count",
        note="Duplicates: delivered by the source again, recognised, and not sent"
        " again.",
    ),
    Column("looped", "Looped", "count", note="Had come over the bridge before."),
    Column(
        "p50_ms",
        "Median",
        "number",
        unit="ms",
        note="From the put at the source to the transfer, of messages that were"
        " transferred or branched and whose put is known.",
    ),
    Column("p99_ms", "99th percentile", "number", unit="ms"),
)


@report(
    "bridge-transfers",
    title="Bridge transfers by link and day",
    question="What did the links of bridges carry, and what could they not carry?",
    inputs=("transfers",),
    columns=COLUMNS,
    charts=(
        Chart("Transferred by day", "bars", "day", "transferred", "link"),
        Chart("Failed by day", "bars", "day", "failed", "link"),
        Chart("Expired by day", "bars", "day", "expired", "link"),
    ),
    totals=(
        Total(
            "every message has one outcome",
            (*OUTCOMES,),
            {"transfers": "counted"},
        ),
        Total(
            "every message that was transformed is counted once",
            ("transformed",),
            {"transfers": "counted AND transformed"},
        ),
        Total(
            "every failure has one reason",
            ("failed",),
            {"transfers": f"counted AND outcome IN {(*FAILURES.values(),)}"},
        ),
    ),
)
def build(inputs: Inputs, _: Values) -> DataFrame:
    counts = ", ".join(
        f"count_if(outcome = '{outcome}') AS {column}"
        for column, outcome in OUTCOMES.items()
    )
    latency = f"CASE WHEN {ARRIVED} THEN latency_ms END"
    failed = " + ".join(FAILURES)
    return inputs["transfers"].sparkSession.sql(
        f"""
        SELECT * EXCEPT (p50, p99), {failed} AS failed, p50 AS p50_ms, p99 AS p99_ms
        FROM (
            SELECT day, link, queue, {counts}, count_if(transformed) AS transformed,
                {spread(latency, 50, 99)}
            FROM {{transfers}} WHERE counted GROUP BY day, link, queue
        )
        """,  # noqa: S608  # constants
        transfers=inputs["transfers"],
    )
