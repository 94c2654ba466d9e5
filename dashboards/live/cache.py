"""What everybody asks for, and what takes long where there is very much of it.

It is kept for some seconds. Where to look takes long, whoever comes next gets what is
kept, at once, and another thread looks anew meanwhile: the longer that takes the less
often, so that it never is most of what the database does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock, Thread
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db import connection

T = TypeVar("T")

QUICK_S = 0.1  # a look that takes less makes nobody wait
TIMES = 50  # as long as a look took is what it saw kept, at least
LONGEST_S = 30  # for which that is so
STALE_S = 60  # what is older is shown to nobody
FIRST = RLock()
LOOKING = "{}.looking"  # key: some thread is at it


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """What one look saw."""

    value: T
    at: float  # seconds of the clock that never goes back
    took_s: float

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.at

    @property
    def rests_s(self) -> float:
        """For how long nobody looks again: in proportion to what it costs."""
        return min(self.took_s * TIMES, LONGEST_S)

    @property
    def is_quick(self) -> bool:
        return self.took_s < QUICK_S


def recent(key: str, look: Callable[[], T], seconds: float) -> T:
    """What was seen so many seconds ago at most; where to look takes long, up to
    ``LONGEST_S``, and longer while somebody looks."""
    kept: Kept[T] | None = cache.get(key)
    if kept is None:
        with FIRST:  # whoever asks meanwhile gets what is seen now
            kept = cache.get(key)
            return kept.value if kept else look_now(key, look)
    if kept.is_quick and kept.age_s > seconds:
        return look_now(key, look)
    rests_s = max(seconds, kept.rests_s)
    if kept.age_s > rests_s and cache.add(LOOKING.format(key), 1, STALE_S):
        Thread(target=look_apart, args=(key, look), daemon=True).start()
    return kept.value


def newest(key: str, look: Callable[[], T], seconds: float) -> T:
    """What is there now; where to look takes long, as ``recent``."""
    kept: Kept[T] | None = cache.get(key)
    if kept is None or kept.is_quick:
        return look_now(key, look)
    return recent(key, look, seconds)


def look_now(key: str, look: Callable[[], T]) -> T:
    began = time.monotonic()
    value = look()
    now = time.monotonic()
    cache.set(key, Kept(value, now, now - began), STALE_S)
    return value


def forget(key: str) -> None:
    """Whoever asks next looks anew."""
    cache.delete(key)


def look_apart(key: str, look: Callable[[], object]) -> None:
    """In a thread of its own, on a connection of its own."""
    try:
        look_now(key, look)
    finally:
        cache.delete(LOOKING.format(key))
        connection.close()
