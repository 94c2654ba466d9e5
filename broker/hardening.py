"""Backout counts that do not outlive a restart, for queues that are not hardened."""

from __future__ import annotations

from datetime import datetime

from broker import sql

BATCH = 1000


def forget_counts(*, now: datetime | None = None) -> int:
    """Let the entries of queues with ``harden_backout`` off begin again at zero.

    For whoever starts the broker, once, before anything consumes. Delivery counts are
    never reset.

    Returns:
        How many entries there were.

    Source:
        IBM MQ, "HardenGetBackout": with NOHARDENBO the count may be lost when the queue
        manager restarts.
    """
    forgotten = 0
    while True:
        (some,) = sql.fetch_one("forget_counts", limit=BATCH, now=now)
        forgotten += int(some)
        if some < BATCH:
            return forgotten
