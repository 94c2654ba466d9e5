"""Links of bridges that groups of dead letters came from, by origin name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from broker.bridges.providers.registry import HERE
from broker.models import BridgeDestination, DeadLetter, Link, Queue
from broker.monitoring.dead_letters import DeadLetterCount


def links_of(groups: Iterable[DeadLetterCount]) -> dict[str, Link]:
    """Links by the origin that groups name. For a queue of this broker, it is the only
    link that gets from it; for any other name, the link of that name. At most three
    queries; none if no group is from a link.
    """
    cause = DeadLetter.Cause.LINK
    names = {one.origin_queue for one in groups if one.cause == cause}
    if not names:
        return {}
    return from_here(names) | from_elsewhere({one for one in names if "/" in one})


def from_here(names: set[str]) -> dict[str, Link]:
    every = Link.objects.select_related("bridge", "source").filter(
        source_factory__provider=HERE,
        source__kind=BridgeDestination.Kind.QUEUE,
        source__name__in=names,
    )
    takers = Counter(one.source.name for one in every)
    return {one.source.name: one for one in every if takers[one.source.name] == 1}


def from_elsewhere(names: set[str]) -> dict[str, Link]:
    names -= set(Queue.objects.filter(name__in=names).values_list("name", flat=True))
    if not names:
        return {}
    bridges = {one.partition("/")[0] for one in names}
    every = Link.objects.filter(bridge__name__in=bridges).select_related("bridge")
    return {str(one): one for one in every if str(one) in names}
