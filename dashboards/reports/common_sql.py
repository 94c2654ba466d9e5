"""SQL that reports have in common: what a dead letter is in silver, and times."""

from __future__ import annotations

# A stay that began because the message died elsewhere; it lies on a dead letter queue.
LETTER = "put_cause IS NOT NULL"
DEAD = "ended = 'dead-lettered'"
UNKNOWN = "UNKNOWN"  # an event that does not say why
CAUSE = f"coalesce(cause, '{UNKNOWN}')"  # of a death
# Where a dead letter died; where it lies, if that was before the archive began.
ORIGIN = "coalesce(parent_queue, queue)"


def seconds(begin: str, end: str) -> str:
    """SQL for the time between two moments; null if one is not known."""
    return f"((unix_micros({end}) - unix_micros({begin})) / 1e6)"


def spread(value: str, *shares: int) -> str:
    """SQL for columns ``p50`` and so on: what so many of a hundred are at most."""
    return ", ".join(
        f"percentile({value}, {share / 100}) AS p{share}" for share in shares
    )
