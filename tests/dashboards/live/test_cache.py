"""What takes long to look at is looked at by one for all, while nobody waits."""

from __future__ import annotations

from itertools import count
from time import monotonic

import pytest
from django.core.cache import cache as django_cache

from dashboards.live import cache

SLOW = 0.0  # what counts as quick: no look does


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """Threads that were started; none of them runs."""
    started: list[tuple] = []

    class Thread:
        def __init__(self, *, args: tuple, **_: object) -> None:
            self.args = args

        def start(self) -> None:
            started.append(self.args)

    monkeypatch.setattr(cache, "Thread", Thread)
    return started


def test_a_quick_look_is_kept_and_then_made_again() -> None:
    looks = count()

    def ask(seconds: float) -> int:
        return cache.recent("a", lambda: next(looks), seconds)

    assert [ask(60), ask(60), ask(0), ask(60)] == [0, 0, 1, 1]


def test_where_looks_are_slow_nobody_but_the_first_waits(
    apart: list[tuple], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BRIEF_S", SLOW)
    monkeypatch.setattr(cache, "TIMES", 0)
    looks = count()

    def look() -> int:
        return next(looks)

    assert [cache.recent("a", look, 0) for _ in range(3)] == [0, 0, 0]
    assert apart == [("a", look)]  # one thread, however many asked

    cache.look_apart("a", look)
    assert cache.recent("a", look, 60) == 1
    assert cache.recent("a", look, 0) == 1
    assert len(apart) == 2


def test_what_is_there_now_is_looked_at_anew_only_where_that_is_quick(
    apart: list[tuple], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count()

    def ask() -> int:
        return cache.newest("a", lambda: next(looks), 60)

    assert [ask(), ask()] == [0, 1]
    monkeypatch.setattr(cache, "QUICK_S", SLOW)
    assert [ask(), ask()] == [1, 1]
    assert apart == []


def test_what_costs_more_is_looked_at_more_seldom(
    apart: list[tuple], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BRIEF_S", SLOW)

    def seen(*, age_s: float, took_s: float) -> cache.CachedResult[str]:
        return cache.CachedResult("seen", monotonic() - age_s, took_s)

    def starts(what: cache.CachedResult[str]) -> bool:
        django_cache.set("a", what)
        assert cache.recent("a", lambda: "new", 5) == "seen"
        started = len(apart)
        apart.clear()
        django_cache.delete(cache.LOOKING.format("a"))
        return bool(started)

    assert not starts(seen(age_s=9, took_s=0.2))
    assert starts(seen(age_s=11, took_s=0.2))
    assert not starts(seen(age_s=29, took_s=5))
    assert starts(seen(age_s=31, took_s=5))  # however long it takes
