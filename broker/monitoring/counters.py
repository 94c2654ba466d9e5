"""The counters of a queue, as ActiveMQ Artemis' operators know them.

What was done is counted by the journal, and never forgotten with it; what is there now
is what came less what left. A reset writes down what a counter had come to, and later
counts are less that: it changes nothing in the journal, nor in any other count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from django.db import transaction

from broker import sql
from broker.models import Act, CounterReset, Kind, Place, Queue
from broker.security import audit
from broker.sql.clock import database_now

# A dead letter, or a message dropped for want of a place for one, was an attempt that
# failed, whoever's rule moved it; what expired or was removed by a person was none.
KILLS = (Kind.DEAD_LETTER, Kind.DISCARD)
ATTEMPTS = (Kind.ACCEPT, Kind.BACK_OUT, *KILLS)


@dataclass(slots=True)
class Totals:
    """The five counters that only grow, and can be reset. In entries."""

    messages_added: int = 0  # put, copied or restored to the queue
    messages_acknowledged: int = 0  # accepted, once that is committed
    acknowledge_attempts: int = 0  # the same, and each that was backed out or killed
    messages_expired: int = 0
    messages_killed: int = 0  # dead letters, and what was dropped instead

    def note(self, kind: Kind, came_from: int, went_to: int, entries: int) -> None:
        """Count one sum of the journal."""
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

    delivering: int = 0  # in somebody's hands
    scheduled: int = 0  # waiting for their time
    message_count: int = 0  # on the queue in all


RESETTABLE = tuple(one.name for one in fields(Totals))
ALL = tuple(one.name for one in fields(Counters))


def counted(queue_id: int) -> Counters:
    """What a queue's counters have come to since it exists. One query."""
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


def shown(queue_id: int) -> tuple[Counters, Mapping[str, datetime]]:
    """A queue's counters since they were reset, and when that was. Two queries.

    Returns:
        The counters, and by name when those were reset that ever were.
    """
    resets = resets_of(queue_id)  # first: what is counted meanwhile came later
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
    """Begin to count anew.

    Args:
        queue: whose counters.
        names: which of ``RESETTABLE``.
        reason: why, for the audit.
        now: when; the database's clock when not given.

    Returns:
        What each had come to since it was reset before, by name.

    Raises:
        ValueError: there is no such counter, or it is of what is there now.
    """
    if unknown := set(names) - set(RESETTABLE):
        raise ValueError(f"{', '.join(sorted(unknown))} cannot be reset")
    Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)  # one after another
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
