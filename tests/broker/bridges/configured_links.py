"""Links as they are configured, between two queues here."""

from __future__ import annotations

from typing import Any

from broker.models import Bridge, BridgeDestination, ConnectionFactory, Link


def make_link(bridge: str = "shop", name: str = "orders-out", **fields: Any) -> Link:
    """A link from "orders" to "shipped", and its bridge if that is missing."""
    of, _ = Bridge.objects.get_or_create(name=bridge)
    factory, _ = ConnectionFactory.objects.get_or_create(
        bridge=of, name="here", provider="this-broker"
    )
    source, target = (
        BridgeDestination.objects.get_or_create(bridge=of, ref_name=one, name=one)[0]
        for one in ("orders", "shipped")
    )
    return Link.objects.create(
        bridge=of,
        name=name,
        source_factory=factory,
        source=source,
        target_factory=factory,
        target=target,
        **fields,
    )
