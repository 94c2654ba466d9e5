"""Links for tests, and what carries their messages while the test looks on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker.bridges import secrets
from broker.bridges.carrier import Carrier
from broker.bridges.ends import Ends, opened
from broker.bridges.providers.interface import Destination
from broker.bridges.providers.registry import HERE
from broker.bridges.transfer import transfer
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    LinkState,
    LinkStatus,
)
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.queueing.get import Delivery
from broker.transactions.scope import unit_of_work
from tests.make import make_queue


def make_bridge(name: str = "shop", **fields: Any) -> Bridge:
    return Bridge.objects.get_or_create(name=name, defaults=fields)[0]


def make_factory(
    bridge: Bridge, name: str = "here", provider: str = HERE, **fields: Any
) -> ConnectionFactory:
    fields["secret"] = secrets.encrypt(fields.pop("password", ""))
    return ConnectionFactory.objects.get_or_create(
        bridge=bridge, name=name, defaults={"provider": provider, **fields}
    )[0]


def make_destination(bridge: Bridge, place: Destination) -> BridgeDestination:
    kind = BridgeDestination.Kind.TOPIC if place.is_topic else "queue"
    return BridgeDestination.objects.get_or_create(
        bridge=bridge,
        ref_name=f"{kind}-{place.name}",
        defaults={"name": place.name, "kind": kind},
    )[0]


def make_link(
    name: str = "out",
    *,
    source: str | Destination = "orders",
    target: str | Destination | None = "booked",
    source_factory: ConnectionFactory | None = None,
    target_factory: ConnectionFactory | None = None,
    bridge: Bridge | None = None,
    **fields: Any,
) -> Link:
    """A link whose ends are this broker, unless the test says otherwise."""
    bridge = bridge or make_bridge()
    here = make_factory(bridge)
    source = Destination(source) if isinstance(source, str) else source
    target = Destination(target) if isinstance(target, str) else target
    link = Link.objects.create(
        bridge=bridge,
        name=name,
        source_factory=source_factory or here,
        source=make_destination(bridge, source),
        target_factory=target_factory or here,
        target=None if target is None else make_destination(bridge, target),
        **fields,
    )
    LinkStatus.objects.create(
        link=link, epoch=1, state=LinkState.STARTED, wanted=LinkState.STARTED
    )
    return link


def make_dead_queue(
    link: Link, name: str, factory: ConnectionFactory, queue: str, **fields: Any
) -> DeadMessageQueue:
    return DeadMessageQueue.objects.create(
        bridge=link.bridge,
        name=name,
        factory=factory,
        destination=make_destination(link.bridge, Destination(queue)),
        **fields,
    )


@dataclass
class Turn:
    """A link with its ends open; nothing moves but by ``carry``."""

    ends: Ends

    @property
    def carrier(self) -> Carrier:
        return self.ends.carrier

    def carry(
        self,
        limit: int | None = None,
        *,
        now: datetime | None = None,
        wait_s: float = 0,
    ) -> int:
        """One batch of each source; returns how many messages were received."""
        return sum(
            transfer(
                self.carrier,
                road.source,
                road.way,
                limit=limit or self.carrier.link.batch,
                wait_s=wait_s,
                now=now,
            )
            for road in self.ends.roads
        )


@contextmanager
def turn(link: Link, *, epoch: int = 1) -> Iterator[Turn]:
    """The link as its runner has it, in this thread."""
    link = Link.objects.select_related(
        *("bridge", "source_factory", "target_factory", "source", "target")
    ).get(pk=link.pk)
    queues = DeadMessageQueue.objects.filter(bridge=link.bridge, enabled=True)
    ends = opened(Carrier(link, epoch, list(queues)))
    try:
        yield Turn(ends)
    finally:
        ends.close()


def carry(link: Link, **options: Any) -> int:
    with turn(link) as one:
        return one.carry(**options)


def make_queues(*names: str) -> None:
    for name in names:
        make_queue(name)


def taken(queue: str, limit: int = 1000) -> list[Delivery]:
    """All that is ready on a queue, taken off it."""
    with unit_of_work() as work:
        return work.get(queue, limit)


def dead() -> list[Delivery]:
    """What lies on the built-in dead message queue, taken off it."""
    return taken(BUILT_IN_QUEUE)


def status(link: Link) -> LinkStatus:
    return LinkStatus.objects.get(link=link)
