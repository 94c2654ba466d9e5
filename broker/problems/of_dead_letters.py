"""How problems of dead letters are found: on queues, and by group."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.utils.translation import gettext_noop

from broker.formats.quantities import write_count, write_duration
from broker.formats.sentences import say
from broker.models import DeadLetter
from broker.monitoring import dead_letters
from broker.problems.of_queues import of_one
from broker.problems.problem import HOUR_S, Bound, Problem
from broker.problems.readings import Readings


def dead(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        count = one.depth.total
        if one.takes_dead_letters and count:
            text = gettext_noop("%(queue)s: %(n)s dead letters.")
            if count == 1:
                text = gettext_noop("%(queue)s: %(n)s dead letter.")
            yield of_one(one.name, say(text, queue=one.name, n=count), count)


def growth(seen: Readings, bound: Bound) -> Iterator[Problem]:
    if bound.within_s == HOUR_S:
        one_more = gettext_noop(
            "%(n)s new dead letter of %(queue)s in the last hour: %(why)s"
        )
        many = gettext_noop(
            "%(n)s new dead letters of %(queue)s in the last hour: %(why)s"
        )
    else:
        one_more = gettext_noop(
            "%(n)s new dead letter of %(queue)s in the last %(span)s: %(why)s"
        )
        many = gettext_noop(
            "%(n)s new dead letters of %(queue)s in the last %(span)s: %(why)s"
        )
    span = write_duration(bound.within_s)
    for one in seen.growing(bound.within_s):
        yield of_group(one, seen, one_more if one.messages == 1 else many, span)


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
            text = gettext_noop(
                "%(n)s new dead letters of %(queue)s, of a new cause: %(why)s"
            )
            if one.messages == 1:
                text = gettext_noop(
                    "%(n)s new dead letter of %(queue)s, of a new cause: %(why)s"
                )
            yield of_group(one, seen, text)


def of_group(
    group: dead_letters.Growing, seen: Readings, text: str, span: str = ""
) -> Problem:
    name, origin = seen.names.get(group.queue_id, ""), group.origin_queue
    why = group.pattern[:200] or say(gettext_noop("no error was given"))
    new = write_count(group.messages)
    return Problem(
        subject=f"{origin} → {name} {group.fingerprint}",
        text=say(text, n=new, queue=origin, span=span, why=why),
        value=group.messages,
        queues=(name,),
        of=origin,
        since=group.last_died_at,
        key=(group.fingerprint, origin, group.queue_id),
        fingerprint=group.fingerprint,
        name=why,
    )
