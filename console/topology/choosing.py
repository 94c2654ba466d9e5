"""Which queues and links a picture has, as it cannot have thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from broker.bridges.configured import ends_here
from console.bridges.rows import LinkRow
from console.queues.queue_list import matches_name
from dashboards.live.depths import QueueDepth

MOST = 40  # queues
MOST_LINKS = 10


def matching(every: Iterable[QueueDepth], text: str) -> list[QueueDepth]:
    """The queues that a text or a pattern finds, by their names or their address': the
    most troubled first, then the deepest."""
    found = [
        one
        for one in every
        if matches_name(one.name, text) or matches_name(one.address, text)
    ]
    return sorted(found, key=trouble)


def trouble(one: QueueDepth) -> tuple[int, int, int, str]:
    """Sort key of a queue: stopped, paused, not consumed; with dead letters; deep."""
    urgency = one.stopped * 4 + one.paused * 2 + one.is_untaken
    dead = one.total if one.takes_dead_letters else 0
    return -urgency, -dead, -one.total, one.name.lower()


def links_of(
    rows: Iterable[LinkRow], queues: Sequence[QueueDepth], text: str
) -> list[LinkRow]:
    """The links that a text finds by their name or an end's, or that begin or end at
    one of the queues; those that failed first."""
    ends = {one.name for one in queues} | {one.address for one in queues}
    found = [
        row
        for row in rows
        if ends & ends_here(row.link)
        or matches_name(str(row.link), text)
        or any(matches_name(end.destination, text) for end in (row.source, row.target))
    ]
    return sorted(found, key=lambda row: not row.is_wrong)[:MOST_LINKS]


def choose(
    names: Iterable[str], onward: Callable[[str], Iterator[str]], limit: int
) -> list[str]:
    """The first of some queues, each with those that its messages are moved to.

    Args:
        names: the queues, the most important first.
        onward: the queues that a queue's messages are moved to.
        limit: the most queues.
    """
    chosen: dict[str, None] = {}
    for name in names:
        for each in (name, *onward(name)):
            if len(chosen) == limit:
                return [*chosen]
            chosen.setdefault(each)
    return [*chosen]
