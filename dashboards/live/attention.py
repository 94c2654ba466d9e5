"""The number of dead-letter groups that need attention, for the badge on every page;
and their origin queues.

Grouping many dead letters is slow. It is done once for all users and kept for a while;
each user sees the groups on queues they may inquire.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from broker.models import DeadLetterGroup, Queue
from broker.monitoring import dead_letter_groups, dead_letters
from broker.security import authorities
from broker.sql import database_now
from dashboards.live import cache

KEY = "dashboards.attention"
KEY_OF_DEATHS = "dashboards.attention.deaths"
KEPT_S = 15
DEATHS_KEPT_S = 2


@dataclass(frozen=True, slots=True)
class GroupsSnapshot:
    """All groups at one moment."""

    at: datetime
    parts: list[
        tuple[str, dead_letters.DeadLetterCount]
    ]  # the name of a queue, and a group of dead letters there
    said: dict[str, DeadLetterGroup]

    @property
    def every(self) -> list[dead_letters.DeadLetterCount]:
        """All groups, the largest first."""
        return [group for _, group in self.parts]

    def trends(self, within: Container[int]) -> Mapping[str, dead_letter_groups.Trend]:
        """Dead letters in each hour of the last day, by fingerprint, including those
        that have left since. Cached apart from the groups: only some pages show them.

        Args:
            within: the queues to count, by id.
        """
        hours: dict[str, list[int]] = defaultdict(
            lambda: [0] * dead_letter_groups.HOURS
        )
        for fingerprint, queue_id, ago, letters in deaths():
            if queue_id in within:
                hours[fingerprint][dead_letter_groups.HOURS - 1 - ago] += letters
        return {
            key: dead_letter_groups.Trend(tuple(counts))
            for key, counts in hours.items()
        }


def count(held: authorities.GrantedAuthorities = authorities.EVERYTHING) -> int:
    """Groups that need attention, on queues the user may inquire; up to some seconds
    old.

    Args:
        held: the user's authorities.
    """
    known = read_groups()
    return sum(
        dead_letter_groups.standing(
            known.said.get(key), parts, known.at
        ).attention.is_needed
        for key, parts in dead_letter_groups.by_fingerprint(
            visible(known.parts, held)
        ).items()
    )


def died(held: authorities.GrantedAuthorities = authorities.EVERYTHING) -> Counter[str]:
    """Dead letters by the name of their origin queue; as old as the count.

    Args:
        held: the user's authorities; dead letters on other queues are left out.
    """
    origins: Counter[str] = Counter()
    for group in visible(read_groups().parts, held):
        origins[group.origin_queue] += group.messages
    return origins


def newest() -> GroupsSnapshot:
    """All groups now; if there are so many dead letters that grouping is slow, at the
    recent moment that the result names.
    """
    return cache.newest(KEY, look, KEPT_S)


def visible(
    parts: Iterable[tuple[str, dead_letters.DeadLetterCount]],
    held: authorities.GrantedAuthorities,
) -> list[dead_letters.DeadLetterCount]:
    return [group for name, group in parts if held.on("inquire", name)]


def read_groups() -> GroupsSnapshot:
    """All groups, at most some seconds old."""
    return cache.recent(KEY, look, KEPT_S)


def look() -> GroupsSnapshot:
    """Group everything. Four queries."""
    at = database_now()
    every = dead_letters.groups()
    lie_on = Queue.objects.filter(pk__in={group.queue_id for group in every})
    names = dict(lie_on.values_list("pk", "name"))
    said = dead_letter_groups.group_rows({group.fingerprint for group in every})
    parts = [(names.get(group.queue_id, ""), group) for group in every]
    return GroupsSnapshot(at, parts, said)


def deaths() -> list[dead_letters.Deaths]:
    """The dead letters of the last day by hour, at most some seconds old; if counting
    is slow, of the last minute."""
    return cache.recent(
        KEY_OF_DEATHS,
        lambda: dead_letters.deaths(dead_letter_groups.HOURS),
        DEATHS_KEPT_S,
    )


def forget() -> None:
    """Drop the cached groups: a note has changed."""
    cache.forget(KEY)
