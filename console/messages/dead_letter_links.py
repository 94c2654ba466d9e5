"""Which groups of dead letters are of links, by what they name as their origin."""

from __future__ import annotations

from collections.abc import Iterable

from broker.models import DeadLetter, Link, Queue
from broker.monitoring.dead_letters import DeadLetterCount


def links_of(groups: Iterable[DeadLetterCount]) -> dict[str, Link]:
    """The links whose dead messages are among groups, by what these name as the queue
    that they came from; those alone where that is no queue of this broker. Two queries,
    or none where no group is of a link."""
    cause = DeadLetter.Cause.LINK
    names = {one.origin_queue for one in groups if one.cause == cause}
    names = {one for one in names if "/" in one}
    if not names:
        return {}
    names -= set(Queue.objects.filter(name__in=names).values_list("name", flat=True))
    bridges = {one.partition("/")[0] for one in names}
    every = Link.objects.filter(bridge__name__in=bridges).select_related("bridge")
    return {str(one): one for one in every if str(one) in names}
