"""How deep queues were in the last five minutes, as far as that is known."""

from __future__ import annotations

import pytest
from redis import Redis

from broker.queueing.journal import Depth
from dashboards.live import trends
from tests.make import NOON, seconds


def deep(entries: int) -> dict[int, Depth]:
    return {1: Depth(ready=entries)}


@pytest.mark.usefixtures("redis")
def test_a_point_is_kept_every_ten_seconds() -> None:
    for second in range(25):
        trends.remember(deep(second), now=NOON + seconds(second))

    trend = trends.of([1, 2], now=NOON + seconds(25))

    assert trend[1].known == [0, 10, 20]
    assert (trend[1].now, trend[1].highest) == (20, 20)
    assert trend[2].known == []  # nobody knows of it
    assert trend[2].is_flat


@pytest.mark.usefixtures("redis")
def test_what_is_older_than_five_minutes_is_not_told() -> None:
    trends.remember(deep(7), now=NOON)

    assert trends.of([1], now=NOON + seconds(290))[1].known == [7]
    assert trends.of([1], now=NOON + seconds(300))[1].known == []


def test_what_is_kept_goes_by_itself(redis: Redis) -> None:
    trends.remember(deep(7), now=NOON)

    (key,) = redis.keys(f"{trends.KEY}:*")

    assert 0 < redis.ttl(key) <= trends.KEPT_S


def test_the_line_goes_from_the_bottom_to_the_top_of_its_room() -> None:
    trend = trends.Trend([0, *[None] * 28, 50])

    assert trend.line == "2.0,16.0 70.0,2.0"
    assert not trend.is_flat


@pytest.mark.parametrize("depths", [[], [None] * 30, [4] * 30, [None, 4]])
def test_where_nothing_changed_there_is_nothing_to_draw(
    depths: list[int | None],
) -> None:
    assert trends.Trend(depths).is_flat


def test_without_redis_nothing_is_known() -> None:
    assert trends.of([1], now=NOON)[1].known == []


@pytest.mark.usefixtures("redis")
def test_of_no_queues_nothing_is_asked() -> None:
    assert trends.of([], now=NOON) == {}
