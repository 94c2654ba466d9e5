"""Samples of the last seconds' counts, for rates.

They are in Redis, because the publisher and the web processes are different processes.
They may be lost at any time; rates are then unknown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import sub

import redis
from django.conf import settings
from django.utils import timezone

from broker.models import Kind
from broker.queueing.journal import Depth

KEY = "dashboards:samples"
KEPT = 10  # samples, one a second
STALE_S = 15
SHORTEST_S = 0.5  # seconds; shorter intervals give no useful rate


@dataclass(frozen=True, slots=True)
class Rates:
    """Entries a second, or None if unknown."""

    arriving: float | None = None
    accepted: float | None = None


@cache
def memory() -> redis.Redis:
    """The Redis client; created once, connects when used."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=0.5, socket_timeout=0.5
    )


def remember(counts: Mapping[int, Depth], now: datetime | None = None) -> None:
    """Store a sample; keep the newest ``KEPT``.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    sample = {
        "at": (now or timezone.now()).timestamp(),
        "done": {str(queue_id): done(depth) for queue_id, depth in counts.items()},
    }
    with memory().pipeline() as pipeline:
        pipeline.lpush(KEY, json.dumps(sample))
        pipeline.ltrim(KEY, 0, KEPT - 1)
        pipeline.expire(KEY, STALE_S)
        pipeline.execute()


def rates(
    counts: Mapping[int, Depth], now: datetime | None = None
) -> defaultdict[int, Rates]:
    """Entries put and accepted a second since the oldest sample, by queue id.

    Any queue id may be used; without data its rates are unknown or zero.
    """
    try:
        found = memory().lindex(KEY, -1)
    except redis.RedisError:
        found = None
    oldest = json.loads(found or '{"at": 0}')
    span = (now or timezone.now()).timestamp() - oldest["at"]
    if not SHORTEST_S <= span <= STALE_S:
        return defaultdict(Rates)
    result = defaultdict(lambda: Rates(0.0, 0.0))
    for queue_id, depth in counts.items():
        before = oldest["done"].get(str(queue_id), [0, 0])
        arrived, accepted = map(sub, done(depth), before)
        result[queue_id] = Rates(round(arrived / span, 1), round(accepted / span, 1))
    return result


def done(depth: Depth) -> list[int]:
    return [depth.done.get(Kind.PUT, 0), depth.done.get(Kind.ACCEPT, 0)]
