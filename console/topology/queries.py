"""The topology for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from broker.acts.declaring import Holds
from broker.formats.quantities import write_count
from broker.security.authorities import Principal
from console.edges.queries import declared_query
from console.topology.choosing import MOST
from console.topology.network import MapNode, NodeRoute
from console.topology.reading import read_network

LARGEST = 500


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A queue, an address, a link, or what else messages come to."""

    kind: str  # elsewhere, exchange, alias, link, address, queue or hidden
    name: str  # empty: it is hidden from the caller
    note: str
    state: str  # of a link; empty: it is none
    ready: int | None  # of a queue, as the next two
    in_flight: int | None
    delayed: int | None


@dataclass(frozen=True, slots=True)
class TopologyRoute:
    """Messages go from a node to another one."""

    # feeds, alias, binding, read, sent, dead-letters, poison, expired, rule or
    # dead-messages
    kind: str
    source_kind: str
    source: str
    target_kind: str
    target: str
    detail: str  # which messages, or for whom


@dataclass(frozen=True, slots=True)
class Topology:
    """Queues, and what is connected to them."""

    empty: ClassVar = "There is no queue."

    queues: int  # all that the caller may inquire
    matching: int  # those that the text finds
    drawn: int  # those among the nodes
    folded: int  # routes to queues that are not among the nodes
    nodes: Sequence[TopologyNode]
    routes: Sequence[TopologyRoute]

    def __str__(self) -> str:
        return f"{self.drawn:,} of {write_count(self.queues, 'queue')}."


@dataclass(frozen=True, slots=True)
class ReadTopology:
    """Which queues, by name, and how many."""

    text: Annotated[
        str, Holds("Part of the names of queues, addresses or links.", most=255)
    ] = ""
    limit: Annotated[
        int, Holds("The most queues to return.", least=1, most=LARGEST)
    ] = MOST


@declared_query("broker.view_queue")
def read_topology(actor: Principal, request: ReadTopology) -> Topology:
    """Queues, and what is connected to them.

    Addresses, links, dead letter and expiry routes, backout queues, and the other ends
    of links. If there are more queues than the limit: the most troubled, then the
    deepest. Targets that the caller may not know of are one node without a name.
    """
    found = read_network(actor, request.text.strip(), request.limit)
    return Topology(
        queues=found.queues,
        matching=found.matching,
        drawn=found.drawn,
        folded=found.folded,
        nodes=[node_of(one) for one in found.nodes],
        routes=[route_of(one) for one in found.routes],
    )


def node_of(one: MapNode) -> TopologyNode:
    depth = one.depth
    return TopologyNode(
        one.kind,
        one.name,
        one.note,
        one.link.status.state if one.link else "",
        depth.ready if depth else None,
        depth.claimed if depth else None,
        depth.delayed if depth else None,
    )


def route_of(one: NodeRoute) -> TopologyRoute:
    source, target = one.source, one.target
    return TopologyRoute(
        one.kind, source.kind, source.name, target.kind, target.name, one.detail
    )
