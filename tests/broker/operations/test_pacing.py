"""A pace is kept whatever comes late, and however often somebody asks."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.operations import InvalidPace
from broker.operations import rate_limit
from tests.make import NOON, seconds


@pytest.mark.parametrize(
    ("pace", "since", "allowed"),
    [
        (10, None, 10),  # nothing was sent yet: those of one second
        (10, 0, 0),
        (10, 0.05, 0),
        (10, 0.1, 1),
        (10, 0.99, 9),
        (10, 1, 10),
        (10, 3600, 10),  # what was not used is lost
        (1, 0.9, 0),
        (1, 1, 1),
        (3, 1, 3),
        (100_000, 0.5, 50_000),
        (10, -5, 0),  # more was sent than was allowed until now
    ],
)
def test_what_may_go_now(pace: int, since: float | None, allowed: int) -> None:
    free_at = None if since is None else NOON - seconds(since)
    assert rate_limit.allowed(pace, free_at, NOON) == allowed


@pytest.mark.parametrize("pace", [0, -1, 100_001])
def test_what_is_no_pace_is_refused(pace: int) -> None:
    with pytest.raises(InvalidPace):
        rate_limit.check(pace)


@pytest.mark.parametrize("pace", [None, 1, 100_000])
def test_what_is_a_pace_is_taken(pace: int | None) -> None:
    rate_limit.check(pace)


@given(
    pace=st.integers(1, 100_000),
    waits_ms=st.lists(st.integers(0, 3000), min_size=1, max_size=50),
    limit=st.integers(1, 1000),
)
def test_no_more_goes_than_the_pace_and_one_second_allow(
    pace: int, waits_ms: list[int], limit: int
) -> None:
    free_at: datetime | None = None
    now, sent = NOON, 0
    for wait_ms in waits_ms:
        now += timedelta(milliseconds=wait_ms)
        some = min(rate_limit.allowed(pace, free_at, now), limit)
        free_at = rate_limit.spent(pace, free_at, some, now)
        sent += some

    elapsed_s = (now - NOON).total_seconds()
    assert sent <= pace * (elapsed_s + 1) + 1


@given(pace=st.integers(1, 100_000), asked_ms=st.integers(1, 900))
def test_who_asks_often_enough_gets_all_of_it(pace: int, asked_ms: int) -> None:
    free_at: datetime | None = None
    now, sent = NOON, 0
    for _ in range(100):
        some = rate_limit.allowed(pace, free_at, now)
        free_at = rate_limit.spent(pace, free_at, some, now)
        sent += some
        now += timedelta(milliseconds=asked_ms)

    elapsed_s = 99 * asked_ms / 1000
    assert sent >= pace * elapsed_s - 1
