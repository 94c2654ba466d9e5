"""Messages that bridge links transferred, failed to transfer, or skipped.

Reads    transfers          of silver
Writes   bridge transfers   one row for each day, link, and local queue of the link

If both ends of a link are local, a transfer has two events and is counted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Total, Values, report
from dashboards.reports.common_sql import spread
from dashboards.reports.declaration import gettext_noop

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
    Column("day", gettext_noop("Day"), "day"),
    Column("link", gettext_noop("Link"), "text"),
    Column(
        "queue",
        gettext_noop("Queue here"),
        "queue",
        note=gettext_noop(
            "The source; for messages from elsewhere: the target or the dead message"
            " queue."
        ),
    ),
    Column(
        "transferred",
        gettext_noop("Transferred"),
        "count",
        note=gettext_noop("To the target of the link."),
    ),
    Column(
        "branched",
        gettext_noop("Branched"),
        "count",
        note=gettext_noop(
            "Transferred to another destination, as a transformer decided."
        ),
    ),
    Column(
        "transformed",
        gettext_noop("Transformed"),
        "count",
        note=gettext_noop(
            "Messages that a transformer changed; each is also counted in another"
            " column."
        ),
    ),
    Column(
        "not_transferred",
        gettext_noop("Not transferred"),
        "count",
        note=gettext_noop(
            "Taken from the source and not sent, as a transformer decided."
        ),
    ),
    Column(
        "expired",
        gettext_noop("Expired"),
        "count",
        note=gettext_noop("At the source, before they were sent."),
    ),
    Column(
        "failed",
        gettext_noop("Failed"),
        "count",
        note=gettext_noop("The four columns after it are of this field."),
    ),
    Column("failed_transformer", gettext_noop("Transformer failed"), "count"),
    Column("failed_send", gettext_noop("Send failed"), "count"),
    Column(
        "failed_acknowledge",
        gettext_noop("Acknowledge failed"),
        "count",
        note=gettext_noop("The target has them, and may get them a second time."),
    ),
    Column(
        "failed_commit",
        gettext_noop("Commit failed"),
        "count",
        note=gettext_noop(
            "In doubt: the target has them, or the source still has them."
        ),
    ),
    Column(
        "duplicates",
        gettext_noop("Duplicates"),
        "count",
        note=gettext_noop(
            "Duplicates: delivered by the source again, recognised, and not sent again."
        ),
    ),
    Column(
        "looped",
        gettext_noop("Looped"),
        "count",
        note=gettext_noop("Had come over the bridge before."),
    ),
    Column(
        "p50_ms",
        gettext_noop("Median"),
        "number",
        unit="ms",
        note=gettext_noop(
            "From the put at the source to the transfer, of messages that were"
            " transferred or branched and whose put is known."
        ),
    ),
    Column("p99_ms", gettext_noop("99th percentile"), "number", unit="ms"),
)


@report(
    "bridge-transfers",
    title=gettext_noop("Bridge transfers by link and day"),
    question=gettext_noop(
        "What did the links of bridges carry, and what could they not carry?"
    ),
    inputs=("transfers",),
    columns=COLUMNS,
    charts=(
        Chart(gettext_noop("Transferred by day"), "bars", "day", "transferred", "link"),
        Chart(gettext_noop("Failed by day"), "bars", "day", "failed", "link"),
        Chart(gettext_noop("Expired by day"), "bars", "day", "expired", "link"),
    ),
    totals=(
        Total(
            gettext_noop("every message has one outcome"),
            (*OUTCOMES,),
            {"transfers": "counted"},
        ),
        Total(
            gettext_noop("every message that was transformed is counted once"),
            ("transformed",),
            {"transfers": "counted AND transformed"},
        ),
        Total(
            gettext_noop("every failure has one reason"),
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
