"""The counters of a queue, as in ActiveMQ Artemis.

They are sums over the journal, and stay when old journal events are deleted. The
number of entries present is entries added less entries removed. A reset stores the
current value of a counter, and later reads subtract it. It changes neither the journal
nor any other counter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from django.db import transaction

from broker import sql
from broker.models import Act, CounterReset, Kind, Place, Queue
from broker.security import audit
from broker.sql import database_now

# Kinds of events that count as killed. A dead letter, or a message discarded because no
# queue accepted its dead letter, was a failed attempt, whichever rule moved it. An
# expired message, or a message that an operator removed, was not.
KILLS = (Kind.DEAD_LETTER, Kind.DISCARD)
ATTEMPTS = (Kind.ACCEPT, Kind.BACK_OUT, *KILLS)


@dataclass(slots=True)
class Totals:
    """The five counters that only grow, and can be reset. Each counts entries."""

    messages_added: int = 0  # entries put on, copied or restored to the queue
    messages_acknowledged: int = 0  # accepted entries, counted at the commit
    # Accepted, backed out and killed entries; an entry counts once for each attempt.
    acknowledge_attempts: int = 0
    messages_expired: int = 0
    # Entries that became dead letters, or were discarded instead.
    messages_killed: int = 0

    def note(self, kind: Kind, came_from: int, went_to: int, entries: int) -> None:
        """Add a sum of journal events to the counters."""
        if not came_from and went_to:
            self.messages_added += entries
        if kind == Kind.ACCEPT:
            self.messages_acknowledged += entries
        if kind in ATTEMPTS:
            self.acknowledge_attempts += entries
        if kind == Kind.EXPIRE:
            self.messages_expired += entries
        if kind in KILLS:
            self.messages_killed += entries


@dataclass(slots=True)
class Counters(Totals):
    """All counters of one queue, at one moment."""

    delivering: int = 0  # entries that a consumer has claimed
    scheduled: int = 0  # delayed entries that are not due yet
    message_count: int = 0  # all entries on the queue


RESETTABLE = tuple(one.name for one in fields(Totals))
ALL = tuple(one.name for one in fields(Counters))


def counted(queue_id: int) -> Counters:
    """The counters of a queue since it was created. One query."""
    counters = Counters()
    for kind, came_from, went_to, entries in sql.run(
        "counters", {"queue_id": queue_id}
    ):
        counters.note(Kind(kind), came_from, went_to, entries)
        for place, change in ((went_to, entries), (came_from, -entries)):
            counters.message_count += change if place else 0
            counters.delivering += change if place == Place.CLAIMED else 0
            counters.scheduled += change if place == Place.DELAYED else 0
    return counters


def read_counters(queue_id: int) -> tuple[Counters, Mapping[str, datetime]]:
    """A queue's counters since their last reset. Two queries.

    Returns:
        The counters, and for each counter that was reset the time of its last reset, by
        name.
    """
    # Read first: events counted after this read are later than the resets.
    resets = resets_of(queue_id)
    counters = counted(queue_id)
    for name, one in resets.items():
        setattr(counters, name, getattr(counters, name) - one.value)
    return counters, {name: one.reset_at for name, one in resets.items()}


def resets_of(queue_id: int) -> dict[str, CounterReset]:
    rows = CounterReset.objects.filter(queue_id=queue_id, counter__in=RESETTABLE)
    return {one.counter: one for one in rows}


@transaction.atomic
def reset(
    queue: Queue,
    names: Collection[str] = RESETTABLE,
    *,
    reason: str = "",
    now: datetime | None = None,
) -> Mapping[str, int]:
    """Reset counters to zero.

    Args:
        queue: the queue of the counters.
        names: the counters to reset, each one of ``RESETTABLE``.
        reason: text that the audit records.
        now: the current time; the database's clock when not given.

    Returns:
        The value of each counter before this reset, by name.

    Raises:
        ValueError: there is no such counter, or it cannot be reset because it counts
            the entries present.
    """
    if unknown := set(names) - set(RESETTABLE):
        raise ValueError(f"{', '.join(sorted(unknown))} cannot be reset")
    # The lock makes other resets of the queue wait for this one.
    Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)
    before, totals = resets_of(queue.pk), counted(queue.pk)
    at = now or database_now()
    rows = [
        CounterReset(
            queue=queue, counter=name, value=getattr(totals, name), reset_at=at
        )
        for name in RESETTABLE
        if name in names
    ]
    CounterReset.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["queue", "counter"],
        update_fields=["value", "reset_at"],
    )
    had = {
        one.counter: one.value
        - (before[one.counter].value if one.counter in before else 0)
        for one in rows
    }
    changed = {name: {"before": value, "after": 0} for name, value in had.items()}
    audit.record(Act.RESET_COUNTERS, queue, reason=reason, detail={"changed": changed})
    return had
