"""Limit of failed password attempts, per address and per name."""

from __future__ import annotations

from collections import Counter

from broker.amqp.limits import ListenerLimits

WINDOW_S = 60.0


class Failures:
    """Counts failed attempts, and resets the counts each minute.

    An attempt counts as failed when it begins, so that simultaneous attempts count too.
    """

    def __init__(self, limits: ListenerLimits) -> None:
        self.limits = limits
        self.since_s = float("-inf")
        self.hosts: Counter[str] = Counter()
        self.names: Counter[tuple[str, str]] = Counter()

    def begin(self, host: str, name: str, now_s: float) -> bool:
        """Count an attempt as failed until it is forgiven; False if over the limit."""
        if now_s - self.since_s >= WINDOW_S:
            self.since_s = now_s
            self.hosts.clear()
            self.names.clear()
        is_one_too_many = (
            self.hosts[host] >= self.limits.failures_per_host
            or self.names[host, name] >= self.limits.failures_per_name
        )
        if is_one_too_many:
            return False
        self.hosts[host] += 1
        self.names[host, name] += 1
        return True

    def forgive(self, host: str, name: str) -> None:
        """Uncount an attempt that succeeded."""
        self.hosts[host] = max(self.hosts[host] - 1, 0)
        self.names[host, name] = max(self.names[host, name] - 1, 0)
