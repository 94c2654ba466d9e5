"""How long the message waits that stands first on each queue."""

from __future__ import annotations

from dashboards import sql
from dashboards.live import cache

KEY = "dashboards.ages"
KEPT_S = 5  # for pages; it costs more the more queues have something ready


def now() -> dict[int, float]:
    """Seconds by the queue's id, of queues where something is ready."""
    return dict(sql.fetch("oldest"))


def lately() -> dict[int, float]:
    """The same, from some seconds ago at most."""
    return cache.recent(KEY, now, KEPT_S)
