"""The age of the first message on each queue."""

from __future__ import annotations

from broker.monitoring import wait_times
from dashboards.live import cache

KEY = "dashboards.ages"
KEPT_S = 5  # cached for pages; the cost grows with the number of non-empty queues


def lately() -> dict[int, float]:
    """The age in seconds by queue id, for queues with ready messages; at most some
    seconds old."""
    return cache.recent(KEY, wait_times.ages, KEPT_S)
