"""Age of the oldest ready message of each queue, and delayed messages that are late.

It reads only, and the cost does not grow with the length of a queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker import sql

PATIENCE = timedelta(seconds=10)  # after which a due entry that is not ready is late
COUNTED = 1000  # late entries of a queue


@dataclass(frozen=True, slots=True)
class QueueWait:
    """The wait times of one queue."""

    queue_id: int
    oldest_at: datetime | None  # when the oldest ready entry was put; None: none
    late: int  # delayed entries that should be ready, counted to ``COUNTED``
    late_since: datetime | None  # when the first of them was due


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
