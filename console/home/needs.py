"""The problems that need a person, the most urgent first, with the page for each.

The table of conditions finds them (``broker.problems``); here they get their URLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from zlib import crc32

from django.urls import reverse

from broker.alerts import sight
from broker.models import Operation
from broker.monitoring import connections as clients
from broker.monitoring import wait_times
from broker.problems.conditions import table
from broker.problems.of_links import RETRIES
from broker.problems.problem import Problem
from broker.security.authorities import GrantedAuthorities, Principal
from console.alerts.places import PAGES, STATES
from dashboards.live import problems
from dashboards.live.depths import QueueDepth

MOST = 5  # problems shown of one condition; more are only counted
LOOKED_AT = 200  # queues, those with the most entries, whose oldest message is read


@dataclass(frozen=True, slots=True)
class Need:
    """A problem as the page shows it, or the rest of those of one condition."""

    problem: Problem
    state: str  # of the chip
    chip: str
    what: str  # the problem, in a sentence; may contain untrusted names
    url: str
    link: str  # label of the link
    since: datetime | None = None

    @property
    def key(self) -> str:
        """An identifier that stays the same when the sentence changes."""
        one = f"{self.problem.condition} {self.problem.subject}"
        return f"{crc32(one.encode()):08x}"


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the page."""

    needs: Sequence[Need]
    # the queue with the oldest ready message, and the time of its put
    oldest: tuple[QueueDepth, datetime] | None
    running: int  # running operations
    connections: int

    @property
    def urgent(self) -> list[Need]:
        return [one for one in self.needs if one.problem.is_urgent]

    @property
    def calm(self) -> list[Need]:
        return [one for one in self.needs if not one.problem.is_urgent]


def overview(
    queues: Sequence[QueueDepth],
    held: GrantedAuthorities,
    user: Principal,
    *,
    now: datetime,
) -> Overview:
    """The problems that the user may see.

    Args:
        queues: those that the user may inquire, with their depths.
        held: the user's authorities.
        user: the reader.
        now: the present time.
    """
    busiest = sorted(queues, key=lambda one: -one.total)[:LOOKED_AT]
    waits = wait_times.waiting([one.queue_id for one in busiest], now=now)
    running = Operation.objects.filter(state=Operation.State.RUNNING).count()
    seen = sight.of_problems(problems.now(now), user, held)
    return Overview(
        needs=list(listed(seen)),
        oldest=oldest_of(busiest, waits),
        running=running,
        connections=clients.count(user),
    )


def listed(found: Iterable[Problem]) -> Iterator[Need]:
    """The first problems of each condition, and one entry for all others; of one thing
    that has several, the most urgent."""
    first: dict[tuple[str, str], Problem] = {}
    for one in found:
        first.setdefault((table()[one.condition].page, one.subject), one)
    for name, group in groupby(first.values(), key=lambda one: one.condition):
        every = list(group)
        yield from map(need, every[:MOST])
        if more := every[MOST:]:
            yield rest(name, more)


def need(one: Problem) -> Need:
    row = table()[one.condition]
    page = PAGES[row.page]
    state, chip = STATES.get(row.name, "untaken"), row.title
    if one.code == RETRIES:
        state, chip = "redelivery", "link tries again"
    what = f"{one.text} {row.since}".strip() if one.since else one.text
    return Need(one, state, chip, what, page.url(one.key), page.link, one.since)


def rest(name: str, more: Sequence[Problem]) -> Need:
    row = table()[name]
    words = row.others.format(s="" if len(more) == 1 else "s")
    worst = max(more, key=lambda one: one.is_urgent)
    return Need(
        Problem("", "", is_urgent=worst.is_urgent, condition=name),
        STATES.get(row.name, "untaken"),
        row.title,
        f"{len(more)} more {words} like these.",
        reverse(PAGES[row.page].every),
        "See them all",
    )


def oldest_of(
    queues: Iterable[QueueDepth], waits: Mapping[int, wait_times.QueueWait]
) -> tuple[QueueDepth, datetime] | None:
    """The oldest message on a queue that consumers should empty."""
    found = [
        (one, wait.oldest_at)
        for one in queues
        if not one.takes_dead_letters
        and (wait := waits.get(one.queue_id))
        and wait.oldest_at is not None
    ]
    return min(found, key=lambda pair: pair[1], default=None)
