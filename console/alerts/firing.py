"""The alerts that fire: queried once for all users, for the badge on every page."""

from __future__ import annotations

from broker.alerts import sight
from broker.models import Alert
from broker.security.authorities import GrantedAuthorities, Principal
from dashboards.live import cache

KEY = "console.alerts"
KEPT_S = 2


def count(user: Principal, held: GrantedAuthorities) -> int:
    """Alerts that fire and are not acknowledged, of those that the user may see."""
    return len(sight.visible(cache.recent(KEY, look, KEPT_S), user, held))


def look() -> list[Alert]:
    return list(sight.firing())


def forget() -> None:
    """Drop the cached alerts: one has been acknowledged."""
    cache.forget(KEY)
