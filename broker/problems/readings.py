"""The data in which problems are found; each part is read once, and only on demand."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any

from broker.models import AlertRule
from broker.monitoring import dead_letters, queue_states, wait_times
from broker.queueing import journal
from broker.sql import database_now

# Limit of the problems of one condition, and of queues whose delayed messages are read.
MOST = 200


# Reads something by its name, or returns an earlier result of the same name.
Keep = Callable[[str, Callable[[], Any]], Any]


def read(name: str, look: Callable[[], Any]) -> Any:
    return look()


class Readings:
    """The readings of one moment.

    Args:
        now: the moment; the database's clock when not given.
        counts: the journal's counts of all queues, if the caller has them already.
        keep: how that is read which takes long if there are thousands of queues.
    """

    def __init__(
        self,
        now: datetime | None = None,
        *,
        counts: Mapping[int, journal.Depth] | None = None,
        keep: Keep = read,
    ) -> None:
        self.at, self.counts, self.keep = now, counts, keep
        self.grown: dict[int, list[dead_letters.Growing]] = {}

    @cached_property
    def now(self) -> datetime:
        return self.at or database_now()

    @cached_property
    def queues(self) -> list[queue_states.WatchedQueue]:
        """All queues. Three queries."""
        return queue_states.states(counts=self.counts)

    @cached_property
    def names(self) -> dict[int, str]:
        return {one.pk: one.name for one in self.queues}

    @cached_property
    def waits(self) -> dict[int, wait_times.QueueWait]:
        """Wait times of idle queues and of those with most delayed messages. One query,
        or none."""
        late = heapq.nlargest(MOST, self.queues, key=lambda one: one.depth.delayed)
        ids = {one.pk for one in late if one.depth.delayed}
        ids |= {one.pk for one in self.queues if one.is_idle}
        look = partial(wait_times.waiting, ids, now=self.now)
        found: dict[int, wait_times.QueueWait] = self.keep("waits", look) if ids else {}
        return found

    @cached_property
    def ages(self) -> dict[int, float]:
        """Seconds that the oldest message of each queue has waited. One query."""
        found: dict[int, float] = self.keep(
            "ages", partial(wait_times.ages, now=self.now)
        )
        return found

    @cached_property
    def rules(self) -> list[AlertRule]:
        return list(AlertRule.objects.filter(enabled=True))

    def growing(self, within_s: int) -> list[dead_letters.Growing]:
        """The groups of dead letters that grew lately. One query for each period."""
        if within_s not in self.grown:
            ids = [one.pk for one in self.queues if one.takes_dead_letters]
            self.grown[within_s] = dead_letters.growing(
                ids, limit=MOST, now=self.now, span=timedelta(seconds=within_s)
            )
        return self.grown[within_s]
