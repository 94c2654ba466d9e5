"""How problems of dead letters are found: on queues, and by group."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from broker.formats.quantities import write_count, write_duration
from broker.models import DeadLetter
from broker.monitoring import dead_letters
from broker.problems.of_queues import of_one
from broker.problems.problem import HOUR_S, Bound, Problem
from broker.problems.readings import Readings


def dead(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        count = one.depth.total
        if one.takes_dead_letters and count:
            yield of_one(one.name, f"{write_count(count, 'dead letter')}.", count)


def growth(seen: Readings, bound: Bound) -> Iterator[Problem]:
    span = "hour" if bound.within_s == HOUR_S else write_duration(bound.within_s)
    for one in seen.growing(bound.within_s):
        yield of_group(one, seen, f" in the last {span}")


def new_causes(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Groups whose first letter died within the period. One query more."""
    groups = seen.growing(bound.within_s)
    begins = seen.now - timedelta(seconds=bound.within_s)
    older = DeadLetter.objects.filter(
        fingerprint__in={one.fingerprint for one in groups}, died_at__lte=begins
    )
    known = set(older.values_list("fingerprint", flat=True).distinct())
    for one in groups:
        if one.fingerprint not in known:
            yield of_group(one, seen, ", of a new cause")


def of_group(group: dead_letters.Growing, seen: Readings, how: str) -> Problem:
    name, origin = seen.names.get(group.queue_id, ""), group.origin_queue
    new = write_count(group.messages, "new dead letter")
    why = group.pattern[:200] or "no error was given"
    return Problem(
        subject=f"{origin} → {name} {group.fingerprint}",
        text=f"{new} of {origin}{how}: {why}",
        value=group.messages,
        queues=(name,),
        of=origin,
        since=group.last_died_at,
        key=(group.fingerprint, origin, group.queue_id),
        fingerprint=group.fingerprint,
        name=why,
    )
