"""A sample of all queues and links, each ten seconds in which something changed.

The broker's counters only grow, so a sample is the difference to the totals of the
last one, and a late sample loses nothing: its counts are of a longer span. While
nothing changes there is a sample once a minute; so a longer time without one is a time
in which nobody looked, and its values are unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

from broker import sql
from broker.models import Held, HistorySample, HistoryTotals, Kind, LinkStatus, Place
from broker.monitoring import wait_times
from broker.monitoring.history import levels
from broker.monitoring.history.packing import (
    COUNTS,
    DEPTHS,
    FIELDS,
    OLDEST,
    SUMMED_FROM,
    TIMES,
    Counts,
    of_link,
    packed,
    unpacked,
)
from broker.sql import database_now
from broker.sql.fencing import short_transaction

PERIOD_S = levels.LEVELS[0].period_s
UNCHANGED_S = 60  # seconds between samples while nothing changes
READY, IN_FLIGHT, DELAYED = map(FIELDS.index, DEPTHS)
ADDED, REMOVED, BACKED_OUT, DEAD_LETTERED = map(FIELDS.index, COUNTS)
DEPTH_OF = {Place.READY: READY, Place.CLAIMED: IN_FLIGHT, Place.DELAYED: DELAYED}
FIRST_TIME = FIELDS.index(TIMES[0])


@short_transaction()
def sample(now: datetime | None = None) -> bool:
    """Store a sample of the present period, if something changed since the last one.

    Several processes may call it at once: one works, the others return.

    Args:
        now: the current time; the database's clock when not given.

    Returns:
        Whether a sample was stored. The first call stores totals only.
    """
    now = now or database_now()
    at = levels.last_end(now, PERIOD_S)
    last = HistoryTotals.objects.select_for_update(skip_locked=True).first()
    if last is None:
        # Otherwise another process has locked the row.
        if not HistoryTotals.objects.exists():
            first = HistoryTotals(at=at, counts=packed(totals()))
            HistoryTotals.objects.bulk_create([first], ignore_conflicts=True)
        return False
    span_s = int((at - last.at).total_seconds())
    if span_s <= 0:
        return False
    present = totals()
    counts = packed(present)
    if counts == bytes(last.counts) and span_s < UNCHANGED_S:
        return False
    before = unpacked(bytes(last.counts)).counts()
    block = packed(with_ages(differences(present, before), now))
    HistorySample.objects.create(period_s=PERIOD_S, at=at, span_s=span_s, counts=block)
    HistoryTotals.objects.update(at=at, counts=counts)
    levels.roll_up(last.at, at)
    return True


def totals() -> dict[int, Counts]:
    """The depths and the counters of all queues and links now, by their ids in a
    block. Ages are left out."""
    found: dict[int, Counts] = defaultdict(lambda: [0] * len(FIELDS))
    for queue_id, kind, came_from, went_to, entries in sql.run(
        "depths", {"queue_ids": None}
    ):
        note(found[queue_id], Kind(kind), came_from, went_to, entries)
    for queue_id, bucket, entries in Held.objects.values_list(
        "queue_id", "bucket", "entries"
    ):
        found[queue_id][FIRST_TIME + bucket] += entries
    for link_id, waiting, received, sent, dead in LinkStatus.objects.values_list(
        "pk", "waiting", "received", "sent", "dead"
    ):
        counts = found[of_link(link_id)]
        counts[READY], counts[ADDED] = waiting or 0, received
        counts[REMOVED], counts[DEAD_LETTERED] = sent, dead
    return found


def note(
    counts: Counts, kind: Kind, came_from: int, went_to: int, entries: int
) -> None:
    """Add a sum of journal events to the counts."""
    if came_from:
        counts[DEPTH_OF[Place(came_from)]] -= entries
    else:
        counts[ADDED] += entries
    if went_to:
        counts[DEPTH_OF[Place(went_to)]] += entries
    else:
        counts[REMOVED] += entries
    if kind == Kind.BACK_OUT:
        counts[BACKED_OUT] += entries
    if kind == Kind.DEAD_LETTER:
        counts[DEAD_LETTERED] += entries


def differences(
    present: Mapping[int, Counts], before: Mapping[int, Counts]
) -> dict[int, Counts]:
    """What happened between two totals. Queues that are empty and idle are left out."""
    nothing = [0] * len(FIELDS)
    found = {}
    for one, counts in present.items():
        earlier = before.get(one, nothing)
        happened = counts[:SUMMED_FROM] + [
            later - sooner
            for later, sooner in zip(
                counts[SUMMED_FROM:], earlier[SUMMED_FROM:], strict=True
            )
        ]
        if any(happened):
            found[one] = happened
    return found


def with_ages(counts: dict[int, Counts], now: datetime) -> dict[int, Counts]:
    """The same counts, with the age of the oldest message of each queue."""
    if any(one[READY] for one in counts.values()):
        for queue_id, age_s in wait_times.ages(now=now).items():
            if queue_id in counts:
                counts[queue_id][OLDEST] = int(age_s)
    for link_id, oldest_at in LinkStatus.objects.filter(waiting__gt=0).values_list(
        "pk", "oldest_at"
    ):
        if oldest_at is not None and of_link(link_id) in counts:
            age = max(now - oldest_at, timedelta(0))
            counts[of_link(link_id)][OLDEST] = int(age.total_seconds())
    return counts
