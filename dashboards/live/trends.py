"""Queue depths of the last minutes, as a sparkline beside each queue.

Kept in Redis like the samples of rates, and may be lost: unknown points are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import redis
from django.utils import timezone

from broker.queueing.journal import Depth
from dashboards.live.samples import memory

KEY = "dashboards:trend"
EVERY_S = 10
POINTS = 30
KEPT_S = (POINTS + 1) * EVERY_S
WIDTH, HEIGHT, MARGIN = 72, 18, 2  # the size of the drawing, in its own units


@dataclass(frozen=True, slots=True)
class Trend:
    """Depths of one queue every ten seconds, the oldest first; None is unknown."""

    depths: Sequence[int | None]

    @property
    def known(self) -> list[int]:
        return [depth for depth in self.depths if depth is not None]

    @property
    def is_flat(self) -> bool:
        """Whether there is nothing to draw: the depth never changed, or is unknown."""
        return len(set(self.known)) < 2

    @property
    def now(self) -> int:
        return self.known[-1]

    @property
    def highest(self) -> int:
        return max(self.known, default=0)

    @property
    def line(self) -> str:
        """The points of an SVG polyline, from the left edge to the right."""
        highest = self.highest or 1
        step = (WIDTH - 2 * MARGIN) / (POINTS - 1)
        room = HEIGHT - 2 * MARGIN
        floor = HEIGHT - MARGIN
        return " ".join(
            f"{MARGIN + place * step:.1f},{floor - room * depth / highest:.1f}"
            for place, depth in enumerate(self.depths)
            if depth is not None
        )


def remember(counts: Mapping[int, Depth], now: datetime | None = None) -> None:
    """Store the depths of all queues, once in ten seconds.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    key = f"{KEY}:{turn_at(now)}"
    if not counts or memory().exists(key):
        return
    with memory().pipeline() as pipeline:
        pipeline.hset(
            key, mapping={str(pk): depth.total for pk, depth in counts.items()}
        )
        pipeline.expire(key, KEPT_S)
        pipeline.execute()


def of(queue_ids: Iterable[int], now: datetime | None = None) -> dict[int, Trend]:
    """The trends of some queues, by id. One round trip."""
    ids = list(queue_ids)
    last = turn_at(now)
    try:
        with memory().pipeline(transaction=False) as pipeline:
            for turn in range(last - POINTS + 1, last + 1):
                pipeline.hmget(f"{KEY}:{turn}", [str(one) for one in ids] or ["-"])
            points = pipeline.execute()
    except redis.RedisError:
        points = [[None] * len(ids)] * POINTS
    return {
        queue_id: Trend(
            [None if at[place] is None else int(at[place]) for at in points]
        )
        for place, queue_id in enumerate(ids)
    }


def turn_at(now: datetime | None) -> int:
    return int((now or timezone.now()).timestamp() // EVERY_S)
