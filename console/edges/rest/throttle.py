"""A limit of requests a minute for each client of the API.

Web processes count together in Redis. While Redis is away, each counts by itself: the
limit is then that of one process, and no request waits.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from functools import cached_property

import redis
from django.conf import settings
from django.http import HttpRequest
from ninja.throttling import BaseThrottle
from redis.backoff import NoBackoff
from redis.retry import Retry

from console.edges.rest.authentication import asker

logger = logging.getLogger(__name__)

WINDOW_S = 60
TIMEOUT_S = 0.1
AWAY_S = 5.0  # time during which Redis is not asked after it did not answer


class RequestCounts:
    """Requests of each client in the present minute."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lock = threading.Lock()
        self.own: Counter[str] = Counter()
        self.minute = 0
        self.asks_again_at = 0.0

    @cached_property
    def server(self) -> redis.Redis:
        return redis.Redis.from_url(
            self.url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )

    def add(self, client: str, minute: int) -> int:
        """Count a request; return the number of this minute's."""
        with self.lock:
            if minute != self.minute:
                self.minute = minute
                self.own.clear()
            self.own[client] += 1
            own = self.own[client]
        return max(own, self.shared(client, minute))

    def shared(self, client: str, minute: int) -> int:
        if not self.url or time.monotonic() < self.asks_again_at:
            return 0
        key = f"backout.api:{client}:{minute}"
        try:
            with self.server.pipeline(transaction=False) as both:
                both.incr(key)
                both.expire(key, 2 * WINDOW_S)
                count, _ = both.execute()
        except redis.RedisError as error:
            self.asks_again_at = time.monotonic() + AWAY_S
            logger.warning("Requests are counted by each process alone: %s", error)
            return 0
        return int(count)


class RequestLimit(BaseThrottle):
    """Refuses requests above ``BACKOUT_API_REQUESTS_PER_MINUTE``; 0: none."""

    def __init__(self) -> None:
        self.counts = RequestCounts(settings.REDIS_URL)

    def allow_request(self, request: HttpRequest) -> bool:
        return self.allows(asker(request))

    def allow_stranger(self, request: HttpRequest) -> bool:
        """Whether an address may be told once more that its credential is not good."""
        return self.allows(f"address {request.META.get('REMOTE_ADDR', '')}")

    def allows(self, client: str) -> bool:
        most: int = settings.BACKOUT_API_REQUESTS_PER_MINUTE
        minute = int(time.time()) // WINDOW_S
        return not most or self.counts.add(client, minute) <= most

    def wait(self) -> float:
        """Seconds until the next minute."""
        return WINDOW_S - time.time() % WINDOW_S


LIMIT = RequestLimit()
