"""Transfer rates of links, and failed links; queried once for all users.

Rates compare the sent count with a sample about a minute old in Redis. The sample may
be lost at any time; rates are then unknown, and everything else is still correct.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import redis
from django.utils import timezone

from broker.bridges import standing
from broker.bridges.providers.registry import HERE
from broker.models import Link, LinkStatus
from broker.security import authorities
from dashboards.live import cache, samples

KEY = "dashboards:links"
EVERY_S = 5
MOST_KEPT = 13  # samples, which cover a minute
STALE_S = 90
SHORTEST_S = 0.5  # seconds; shorter intervals give no useful rate
FAILED = "dashboards.links.failed"
KEPT_S = 2
MOST = 100  # failed links shown by name
ENDS = ("bridge", "source", "source_factory", "target", "target_factory")
# Fetched by queries of their own: usually no link has failed, and to plan a join of all
# these tables takes milliseconds.
WITH_ENDS = tuple(f"link__{one}" for one in ENDS)


@dataclass(frozen=True, slots=True)
class Failed:
    """A link that stopped after an error."""

    name: str
    ends: frozenset[str]  # names of the link's queues at this broker


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
    return [one.name for one in every if sees(held, one.ends)]


def renew() -> list[str]:
    """All failed links now; refreshes the cache."""
    return [one.name for one in cache.look_now(FAILED, look)]


def look() -> list[Failed]:
    """Query the failed links. One query if there are none."""
    found = standing.failed().prefetch_related(*WITH_ENDS)
    return [
        Failed(str(one.link), frozenset(ends_here(one.link))) for one in found[:MOST]
    ]


def ends_here(link: Link) -> set[str]:
    """The addresses and queues of this broker that are ends of a link."""
    ends = set()
    if link.source_factory.provider == HERE:
        ends.add(link.source.name)
    if link.target_factory.provider == HERE:
        ends.add((link.target or link.source).name)
    return ends


def sees(held: authorities.GrantedAuthorities, ends: Iterable[str]) -> bool:
    """Whether the user may see a link."""
    return all(held.on("inquire", one) for one in ends)
