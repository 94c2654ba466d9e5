"""Transfer rates of links, and failed links; queried once for all users.

Rates compare the sent count with a sample about a minute old in Redis. The sample may
be lost at any time; rates are then unknown, and everything else is still correct.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

import redis
from django.utils import timezone

from broker.models import LinkStatus
from broker.problems import of_links
from broker.problems.problem import Problem
from broker.security import authorities
from dashboards.live import cache, samples

KEY = "dashboards:links"
EVERY_S = 5
MOST_KEPT = 13  # so many samples cover the last minute
STALE_S = 90
SHORTEST_S = 0.5  # seconds; shorter intervals give no useful rate
FAILED = "dashboards.links.failed"
KEPT_S = 2
MOST = 100  # failed links shown by name


def remember(now: datetime | None = None) -> None:
    """Store a sample of sent counts, if the last one is old enough.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    at = (now or timezone.now()).timestamp()
    last = json.loads(samples.memory().lindex(KEY, 0) or '{"at": 0}')
    if 0 <= at - last["at"] < EVERY_S:
        return
    sent = dict(LinkStatus.objects.values_list("pk", "sent"))
    with samples.memory().pipeline() as pipeline:
        pipeline.lpush(KEY, json.dumps({"at": at, "sent": sent}))
        pipeline.ltrim(KEY, 0, MOST_KEPT - 1)
        pipeline.expire(KEY, STALE_S)
        pipeline.execute()


def rates(
    sent: Mapping[int, int], now: datetime | None = None
) -> dict[int, float | None]:
    """Messages sent a second since the oldest sample, by link; None if unknown.

    Args:
        sent: present sent counts, by link id.
        now: the present time.
    """
    try:
        found = samples.memory().lindex(KEY, -1)
    except redis.RedisError:
        found = None
    oldest = json.loads(found or '{"at": 0, "sent": {}}')
    span = (now or timezone.now()).timestamp() - oldest["at"]
    if not SHORTEST_S <= span <= STALE_S:
        return dict.fromkeys(sent)
    return {
        pk: round((count - oldest["sent"].get(str(pk), 0)) / span, 1)
        for pk, count in sent.items()
    }


def failed(held: authorities.GrantedAuthorities = authorities.EVERYTHING) -> list[str]:
    """Failed links whose queues the user may inquire; cached for a moment.

    Args:
        held: the user's authorities.
    """
    every = cache.recent(FAILED, look, KEPT_S)
    return [one.subject for one in every if sees(held, one.queues)]


def renew() -> list[str]:
    """All links that have failed now; the cache is refreshed."""
    return [one.subject for one in cache.look_now(FAILED, look)]


def look() -> list[Problem]:
    """The links that stopped by themselves. One query if there are none."""
    return list(islice(of_links.stopped(), MOST))


def sees(held: authorities.GrantedAuthorities, ends: Iterable[str]) -> bool:
    """Whether the user may see a link."""
    return all(held.on("inquire", one) for one in ends)
