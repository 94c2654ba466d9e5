"""Samples of the last seconds' counts, for rates.

They are in Redis, because the publisher and the web processes are different processes.
They may be lost at any time; rates are then unknown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from operator import sub
from typing import NamedTuple

import redis
from django.conf import settings
from django.utils import timezone

from broker.models import Kind
from broker.queueing.journal import Depth

KEY = "dashboards:samples:3"  # 3: the number of counts of each queue
KEPT_S = 10  # a rate is the mean of so many seconds
STALE_S = 15
# in the order of the fields of ``Rates``
COUNTED = (Kind.PUT, Kind.ACCEPT, Kind.BACK_OUT)
SHORTEST_S = 0.5  # seconds; shorter intervals give no useful rate


class Rates(NamedTuple):
    """Entries a second, or None if unknown."""

    arriving: float | None = None
    accepted: float | None = None
    backed_out: float | None = None


UNKNOWN, STILL = Rates(), Rates(0.0, 0.0, 0.0)


@cache
def memory() -> redis.Redis:
    """The Redis client; created once, connects when used.

    Raises:
        redis.RedisError: no Redis is configured.
    """
    if not settings.REDIS_URL:
        raise redis.ConnectionError("REDIS_URL is not set.")
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=0.5, socket_timeout=0.5
    )


def remember(counts: Mapping[int, Depth], now: datetime | None = None) -> None:
    """Store a sample; delete those that are older than ``KEPT_S``.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    at = (now or timezone.now()).timestamp()
    sample = {
        "at": at,
        "done": {str(queue_id): done(depth) for queue_id, depth in counts.items()},
    }
    with memory().pipeline() as pipeline:
        pipeline.lpush(KEY, json.dumps(sample))
        pipeline.expire(KEY, STALE_S)
        pipeline.lindex(KEY, -1)
        *_, oldest = pipeline.execute()
    while at - json.loads(oldest)["at"] > KEPT_S:
        memory().rpop(KEY)
        oldest = memory().lindex(KEY, -1)


def is_late(after_s: int) -> bool:
    """Whether there is no sample of the last ``after_s`` seconds.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    left_s = int(memory().ttl(KEY))  # negative if there is no sample
    return left_s <= STALE_S - after_s


def rates(
    counts: Mapping[int, Depth], now: datetime | None = None
) -> defaultdict[int, Rates]:
    """Entries put, accepted and backed out a second since the oldest sample, by queue
    id.

    Any queue id may be used; without data its rates are unknown or zero.
    """
    try:
        found = memory().lindex(KEY, -1)
    except redis.RedisError:
        found = None
    oldest = json.loads(found or '{"at": 0}')
    span = (now or timezone.now()).timestamp() - oldest["at"]
    if not SHORTEST_S <= span <= STALE_S:
        return defaultdict(lambda: UNKNOWN)
    result: defaultdict[int, Rates] = defaultdict(lambda: STILL)
    nothing = [0] * len(COUNTED)
    for queue_id, depth in counts.items():
        present, before = done(depth), oldest["done"].get(str(queue_id), nothing)
        if present != before:
            since = map(sub, present, before)
            result[queue_id] = Rates(*(round(count / span, 1) for count in since))
    return result


def done(depth: Depth) -> list[int]:
    return [depth.done.get(kind, 0) for kind in COUNTED]
