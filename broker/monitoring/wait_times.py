"""Age of the oldest ready message of each queue, and number of delayed messages that
are late.

The module only reads, and its cost does not grow with the length of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from broker import sql

# A due entry that is not ready after this time is late.
PATIENCE = timedelta(seconds=10)
COUNTED = 1000  # most late entries counted of a queue


class QueueWait(NamedTuple):
    """The wait times of one queue."""

    queue_id: int
    # Put time of the oldest ready entry; None: no ready entry.
    oldest_at: datetime | None
    late: int  # delayed entries that are late, counted up to ``COUNTED``
    late_since: datetime | None  # time at which the first late entry was due


def waiting(
    queue_ids: Iterable[int], *, now: datetime | None = None
) -> dict[int, QueueWait]:
    """The wait times of queues, by id. One query."""
    found = sql.fetch(
        "waiting",
        QueueWait,
        queue_ids=list(queue_ids),
        patience=PATIENCE,
        limit=COUNTED,
        now=now,
    )
    return {one.queue_id: one for one in found}


def ages(*, now: datetime | None = None) -> dict[int, float]:
    """The age in seconds of the oldest message, by queue id, for all queues with ready
    messages. One query."""
    return dict(sql.run("oldest", {"now": now}))
