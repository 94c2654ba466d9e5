"""How long messages have waited that could be got, and which are not ready in time.

Looking changes nothing, and costs the same however long a queue is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker import sql

PATIENCE = timedelta(seconds=10)  # before what is due and not ready is late
COUNTED = 1000  # late entries of a queue


@dataclass(frozen=True, slots=True)
class QueueWait:
    """One queue."""

    queue_id: int
    oldest_at: datetime | None  # when the oldest ready entry was put; None: none is
    late: int  # delayed entries that should be ready, counted to ``COUNTED``
    late_since: datetime | None  # the first of them was due then


def waiting(
    queue_ids: Iterable[int], *, now: datetime | None = None
) -> dict[int, QueueWait]:
    """By queue. One query."""
    found = sql.fetch(
        "waiting",
        QueueWait,
        queue_ids=list(queue_ids),
        patience=PATIENCE,
        limit=COUNTED,
        now=now,
    )
    return {one.queue_id: one for one in found}
