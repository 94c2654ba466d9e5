"""A cache for queries that all users need and that may be slow.

A result is kept for some seconds. If the query is slow, callers get the cached result
at once while another thread refreshes it. The slower the query, the rarer the refresh,
so that it never takes most of the database's time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock, Thread
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

# ``newest`` runs a query at each call if its last run took less than this.
QUICK_S = 0.1
# ``recent`` refreshes an old result itself if the query took less than this; a slower
# query is run by a separate thread.
BRIEF_S = 0.03
TIMES = 50  # a result is kept for at least this multiple of the query's duration
LONGEST_S = 30  # a slow query delays the refresh of its result by at most this
STALE_S = 60  # older results are never returned
FIRST = RLock()
LOOKING = "{}.looking"  # the cache key that exists while a thread refreshes a result


@dataclass(frozen=True, slots=True)
class CachedResult(Generic[T]):
    """The result of one query."""

    value: T
    at: float  # the time of the query, in monotonic seconds
    took_s: float

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.at

    @property
    def rests_s(self) -> float:
        """Seconds until the next refresh, in proportion to the query's duration."""
        return min(self.took_s * TIMES, LONGEST_S)

    @property
    def is_quick(self) -> bool:
        return self.took_s < QUICK_S


def recent(key: str, look: Callable[[], T], seconds: float) -> T:
    """A result at most this many seconds old; if the query is slow, up to
    ``LONGEST_S``, and older during a refresh.
    """
    kept: CachedResult[T] | None = cache.get(key)
    if kept is None:
        with FIRST:  # further callers wait, and get the result of the first
            kept = cache.get(key)
            return kept.value if kept else look_now(key, look)
    if kept.took_s < BRIEF_S and kept.age_s > seconds:
        return look_now(key, look)
    rests_s = max(seconds, kept.rests_s)
    if kept.age_s > rests_s and cache.add(LOOKING.format(key), 1, STALE_S):
        Thread(target=look_apart, args=(key, look), daemon=True).start()
    return kept.value


def newest(key: str, look: Callable[[], T], seconds: float) -> T:
    """The present result; if the query is slow, as ``recent``."""
    kept: CachedResult[T] | None = cache.get(key)
    if kept is None or kept.is_quick:
        return look_now(key, look)
    return recent(key, look, seconds)


def look_now(key: str, look: Callable[[], T]) -> T:
    began = time.monotonic()
    value = look()
    now = time.monotonic()
    cache.set(key, CachedResult(value, now, now - began), STALE_S)
    return value


def forget(key: str) -> None:
    """Drop the result; the next caller runs the query."""
    cache.delete(key)


def look_apart(key: str, look: Callable[[], object]) -> None:
    """Refresh in a separate thread with its own connection."""
    try:
        look_now(key, look)
    except DatabaseError as error:
        logger.warning("%s was not refreshed: %s", key, error)
    finally:
        cache.delete(LOOKING.format(key))
        connection.close()
