"""The age of the first message on each queue."""

from __future__ import annotations

from broker.monitoring import wait_times
from dashboards.live import cache

KEY = "dashboards.ages"
# Pages share one result for so many seconds, because the query takes longer the more
# queues have messages.
KEPT_S = 5


def lately() -> dict[int, float]:
    """The age in seconds by queue id, for queues with ready messages; at most some
    seconds old."""
    return cache.recent(KEY, wait_times.ages, KEPT_S)
