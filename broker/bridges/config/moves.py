"""The moves that links make, for warnings on circles (``broker.config.moves``).

A link with a selector leaves out what comes back to it, or is meant to; so it is no
part of a circle. Nor is a link that is disabled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker.config.transfers import (
    ADDRESS,
    ELSEWHERE,
    QUEUE,
    Transfer,
    TransferEnd,
    Way,
)
from broker.models import BridgeDestination, ConnectionFactory, DeadMessageQueue, Link
from broker.models.bridge_names import BUILT_IN_QUEUE, THIS_BROKER

PARTS = ("bridge", "source_factory", "source", "target_factory", "target")


def stored() -> Iterator[Transfer]:
    """The moves of all links that are enabled. Two queries."""
    links = Link.objects.filter(enabled=True, selector="").select_related(*PARTS)
    queues: dict[int, list[DeadMessageQueue]] = {}
    every = DeadMessageQueue.objects.filter(enabled=True)
    for one in every.select_related("factory", "destination") if links else ():
        queues.setdefault(one.bridge_id, []).append(one)
    for link in links:
        yield from transfers_of(link, queues.get(link.bridge_id, ()))


def transfers_of(
    link: Link, dead_queues: Iterable[DeadMessageQueue]
) -> Iterator[Transfer]:
    """The moves of a link: to its target, and of its dead messages."""
    source = end_of(link.source_factory, link.source, is_source=True)
    target = end_of(link.target_factory, link.target or link.source)
    yield Transfer(source, target, Way.LINK, str(link))
    built_in = TransferEnd(BUILT_IN_QUEUE)
    yield Transfer(source, built_in, Way.DEAD_MESSAGES, str(link))
    for one in dead_queues:
        end = end_of(one.factory, one.destination)
        yield Transfer(source, end, Way.DEAD_MESSAGES, str(link))


def end_of(
    factory: ConnectionFactory, row: BridgeDestination, *, is_source: bool = False
) -> TransferEnd:
    """A destination as an end: what is sent to this broker goes to an address; what is
    read here is a queue, or the messages of an address."""
    if factory.provider != THIS_BROKER:
        return TransferEnd(
            f"{row.kind} {row.name} of {factory.url or factory.name}", ELSEWHERE
        )
    is_queue = is_source and row.kind == BridgeDestination.Kind.QUEUE
    return TransferEnd(row.name, QUEUE if is_queue else ADDRESS)
