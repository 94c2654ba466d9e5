"""The age of the first message on each queue."""

from __future__ import annotations

from dashboards import sql
from dashboards.live import cache

KEY = "dashboards.ages"
KEPT_S = 5  # cached for pages; the cost grows with the number of non-empty queues


def now() -> dict[int, float]:
    """The age in seconds by queue id, for queues with ready messages."""
    return dict(sql.fetch("oldest"))


def lately() -> dict[int, float]:
    """The ages, at most some seconds old."""
    return cache.recent(KEY, now, KEPT_S)
