"""Makes bridges and what is in them; a test names only what it is about."""

from __future__ import annotations

from typing import Any, TypeVar

from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)

Shared = TypeVar("Shared", ConnectionFactory, BridgeDestination)

URLS = {
    "this-broker": "",
    "backout": "https://other.test/",
    "amqp": "amqp://mq.test:5672",
    "stomp": "stomp://mq.test:61613",
    "rabbitmq": "amqp://rabbit.test:5672/",
    "kombu": "redis://redis.test:6379/0",
}


def factory(
    bridge: Bridge, name: str = "here", provider: str = "this-broker", **fields: Any
) -> ConnectionFactory:
    url = fields.pop("url", URLS.get(provider, ""))
    return ConnectionFactory(
        bridge=bridge, name=name, provider=provider, url=url, **fields
    )


def destination(
    bridge: Bridge, ref_name: str, name: str = "", kind: str = "queue", **fields: Any
) -> BridgeDestination:
    named = name or ref_name
    return BridgeDestination(
        bridge=bridge, ref_name=ref_name, name=named, kind=kind, **fields
    )


def link(
    source: str = "this-broker",
    target: str = "amqp",
    *,
    source_kind: str = "queue",
    target_kind: str = "queue",
    **fields: Any,
) -> Link:
    """A link from ``orders`` to ``bills`` at these kinds of providers; unsaved."""
    bridge = fields.pop("bridge", None) or Bridge(name="bridge")
    chosen: dict[str, Any] = {
        "source_factory": factory(bridge, "from", source),
        "source": destination(bridge, "orders", kind=source_kind),
        "target_factory": factory(bridge, "to", target),
        "target": destination(bridge, "bills", kind=target_kind),
    }
    return Link(bridge=bridge, name="out", **chosen | fields)


def dead_queue(**fields: Any) -> DeadMessageQueue:
    bridge = fields.pop("bridge", None) or Bridge(name="bridge")
    chosen: dict[str, Any] = {
        "factory": factory(bridge),
        "destination": destination(bridge, "dead"),
    }
    return DeadMessageQueue(bridge=bridge, name="dmq", **chosen | fields)


def stored_link(name: str = "out", bridge: str = "bridge", **fields: Any) -> Link:
    """A link that is kept, in a bridge that may be there already."""
    of, _ = Bridge.objects.get_or_create(name=bridge)
    made: Any = link(bridge=of, **fields)
    made.name = name
    made.source_factory = kept(made.source_factory)
    made.source = kept(made.source)
    made.target_factory = kept(made.target_factory)
    if made.target is not None:
        made.target = kept(made.target)
    made.save()
    found: Link = made
    return found


def stored_queue(name: str = "dmq", bridge: str = "bridge") -> DeadMessageQueue:
    of, _ = Bridge.objects.get_or_create(name=bridge)
    made = dead_queue(bridge=of)
    made.name = name
    made.factory, made.destination = kept(made.factory), kept(made.destination)
    made.save()
    return made


def kept(part: Shared) -> Shared:
    """The one of this name, which is stored unless it was."""
    column = "ref_name" if hasattr(part, "ref_name") else "name"
    same = {column: getattr(part, column)}
    known = type(part)._default_manager.filter(bridge=part.bridge, **same).first()
    if known is not None:
        return known
    part.save()
    return part
