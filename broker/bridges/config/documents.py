"""A bridge with all its parts, as a document: stored, or only read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.bridges.config.faults import Part
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)

NOT_OF_DOCUMENTS = {"id", "key", "bridge", "secret", "position"}
DESCRIPTIONS = ("description", "source_description", "target_description")


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """A value that the document lacks, to be given by an operator."""

    where: str  # the place in the document, as "line 12, <connection-factory>"
    what: str  # a sentence that says what to do


@dataclass(slots=True)
class Document:
    """One bridge; its parts refer to each other, whether they are stored or not."""

    bridge: Bridge
    factories: list[ConnectionFactory] = field(default_factory=list)
    destinations: list[BridgeDestination] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    # Dead message queues, in the order in which the bridge uses them.
    dead_queues: list[DeadMessageQueue] = field(default_factory=list)
    left_open: list[LeftOpen] = field(default_factory=list)

    @property
    def parts(self) -> Sequence[Part]:
        """All parts; each comes after the parts that it refers to."""
        shared: list[Part] = [self.bridge, *self.factories, *self.destinations]
        return [*shared, *self.links, *self.dead_queues]


def stored(bridge: Bridge) -> Document:
    """The stored parts of a bridge. Four queries."""
    factories = list(bridge.factories.all())
    destinations = list(bridge.destinations.all())
    links = list(bridge.links.all())
    queues = list(bridge.dead_queues.all())
    by_id: dict[type, dict[Any, Any]] = {
        ConnectionFactory: {one.pk: one for one in factories},
        BridgeDestination: {one.pk: one for one in destinations},
        Bridge: {bridge.pk: bridge},
    }
    for one in (*factories, *destinations, *links, *queues):
        for column in one._meta.fields:
            if column.is_relation and column.attname != column.name:
                known = by_id.get(column.related_model, {})  # type: ignore[arg-type]
                if (pk := getattr(one, column.attname)) in known:
                    setattr(one, column.name, known[pk])
    return Document(bridge, factories, destinations, links, queues)


def name_of(part: Part) -> str:
    """The name by which other parts refer to a part."""
    return part.ref_name if isinstance(part, BridgeDestination) else part.name


def values_of(part: Part) -> dict[str, Any]:
    """The values of a part in a document, by field; references are names."""
    values: dict[str, Any] = {}
    for column in part._meta.fields:
        if column.name in NOT_OF_DOCUMENTS:
            continue
        value = getattr(part, column.name)
        if column.is_relation:
            value = None if value is None else name_of(value)
        elif column.name in DESCRIPTIONS:
            value = as_read(value)
        values[column.name] = value
    return values


def as_read(text: str) -> str:
    """A text as it is read back from a document."""
    return "\n".join(text.splitlines()).strip()
