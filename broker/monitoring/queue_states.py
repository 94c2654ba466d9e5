"""All queues with their depths, and those from which nobody takes.

Nobody takes from a queue if messages are ready for consumers and none is claimed, the
oldest has waited for a minute, and in this minute no delivery has ended. Who takes is
read from the samples of the history, so no rate and no Redis is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import BooleanField, ExpressionWrapper, F
from django.db.models.functions import Lower

from broker.models import HistorySample, Queue
from broker.monitoring import wait_times
from broker.monitoring.dead_letter_queues import takes_dead_letters
from broker.monitoring.history.levels import LEVELS
from broker.monitoring.history.packing import FIELDS, TIMES, unpacked
from broker.queueing import journal

PATIENCE = timedelta(minutes=1)
ENDS = [FIELDS.index(one) for one in ("backed_out", "dead_lettered", *TIMES)]


class WatchedQueue(NamedTuple):
    """A queue, and what is on it."""

    pk: int
    name: str
    address: str
    paused: bool
    paused_until: datetime | None
    stopped: bool  # delivery to ConnectionConsumers is stopped
    takes_dead_letters: bool
    depth: journal.Depth

    @property
    def is_idle(self) -> bool:
        """Messages are ready for consumers, and none is claimed."""
        is_still = self.paused or self.stopped or self.takes_dead_letters
        return not is_still and self.depth.ready > 0 == self.depth.claimed


def states(
    name: str | None = None, *, counts: Mapping[int, journal.Depth] | None = None
) -> list[WatchedQueue]:
    """All queues, or the one of that name, ordered by name. Three queries.

    Args:
        counts: the journal's counts, if the caller has them already.
    """
    chosen = Queue.objects.all() if name is None else Queue.objects.filter(name=name)
    takes = ExpressionWrapper(takes_dead_letters(), output_field=BooleanField())
    rows = chosen.order_by(Lower("name"), "name").values_list(
        *("pk", "name", F("address__name")),
        *("paused", "paused_until", "stopped", takes),
    )
    if counts is None:
        counts = journal.depths(None if name is None else [row[0] for row in rows])
    nothing = journal.Depth()
    return [WatchedQueue._make((*row, counts.get(row[0], nothing))) for row in rows]


def waits(
    queues: Iterable[WatchedQueue], now: datetime | None = None
) -> dict[int, wait_times.QueueWait]:
    """The wait times of idle queues, by id. One query, or none."""
    idle = [one.pk for one in queues if one.is_idle]
    return wait_times.waiting(idle, now=now) if idle else {}


def untaken(
    known: Mapping[int, wait_times.QueueWait], now: datetime
) -> dict[int, datetime]:
    """Of idle queues, those from which nobody takes, and since when the oldest message
    waits, by id. One query, or none.

    Args:
        known: the wait times of the idle queues.
        now: the current time.
    """
    begins = now - PATIENCE
    waiting = {pk: one.oldest_at for pk, one in known.items() if one.oldest_at}
    long = {pk: since for pk, since in waiting.items() if since <= begins}
    return {pk: long[pk] for pk in long.keys() - (taken(begins) if long else set())}


def taken(since: datetime) -> set[int]:
    """Ids of queues of which a delivery has ended since a time, as far as samples tell:
    the last ten seconds may be missing. One query."""
    samples = HistorySample.objects.filter(period_s=LEVELS[0].period_s, at__gt=since)
    found: set[int] = set()
    for block in samples.values_list("counts", flat=True):
        counts = unpacked(bytes(block))
        for column in filter(None, map(counts.columns.__getitem__, ENDS)):
            found.update(pk for pk, n in zip(counts.ids, column, strict=True) if n)
    return found
