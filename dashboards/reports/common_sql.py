"""SQL that several reports use: dead letters in silver, durations, percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 200_000  # a table with at most so many rows is sent to each task
# A condition: the stay is that of a dead letter on a dead letter queue.
LETTER = "put_cause IS NOT NULL"
DEAD = "ended = 'dead-lettered'"
UNKNOWN = "UNKNOWN"  # the cause of events without a cause
CAUSE = f"coalesce(cause, '{UNKNOWN}')"  # the cause of a dead letter
# The origin queue of a dead letter; its present queue, if it became a dead letter
# before the archive began.
ORIGIN = "coalesce(parent_queue, queue)"


def seconds(begin: str, end: str) -> str:
    """SQL for the seconds between two times; null if one is not known."""
    return f"((unix_micros({end}) - unix_micros({begin})) / 1e6)"


def spread(value: str, *shares: int) -> str:
    """SQL for percentiles, as columns ``p50`` and so on."""
    return ", ".join(
        f"percentile({value}, {share / 100}) AS p{share}" for share in shares
    )


def broadcast_few(name: str, rows: DataFrame) -> str:
    """The hint of a broadcast join, or nothing if the table has too many rows for it.
    Each task gets a copy of the table, so the other side is not sorted.

    Args:
        name: of the table in the statement.
        rows: the table; checkpointed, because its rows are counted here.
    """
    return f"/*+ BROADCAST({name}) */" if rows.count() <= FEW else ""
