"""Addresses, queues and links as nodes, and the routes of messages between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from django.utils.translation import gettext_noop

from broker.config.transfers import Way
from console.bridges.rows import LinkRow
from dashboards.live.depths import QueueDepth


class NodeKind(StrEnum):
    """What a node is."""

    ELSEWHERE = gettext_noop("elsewhere")  # a queue or topic of another broker
    EXCHANGE = gettext_noop("exchange")
    ALIAS = gettext_noop("alias")
    LINK = gettext_noop("link")
    ADDRESS = gettext_noop("address")
    QUEUE = gettext_noop("queue")
    HIDDEN = gettext_noop("hidden")  # everything that the user may not know of


class RouteKind(StrEnum):
    """Why messages go from one node to another."""

    FEEDS = "feeds"
    ALIAS = "alias"
    BINDING = "binding"
    READ = "read"  # a link gets from a queue or address
    SENT = "sent"  # a link puts
    DEAD_LETTERS = "dead-letters"
    POISON = "poison"
    EXPIRED = "expired"
    RULE = "rule"
    DEAD_MESSAGES = "dead-messages"

    @property
    def words(self) -> str:
        """What stands between the names of both nodes, as a sentence."""
        return WORDS[self]

    @property
    def label(self) -> str:
        """What the legend says of its lines."""
        return LABELS.get(self, gettext_noop("messages"))


WORDS = {
    RouteKind.FEEDS: gettext_noop("feeds"),
    RouteKind.ALIAS: gettext_noop("stands for"),
    RouteKind.BINDING: gettext_noop("routes to"),
    RouteKind.READ: gettext_noop("is read by"),
    RouteKind.SENT: gettext_noop("sends to"),
    RouteKind.DEAD_LETTERS: gettext_noop("dead letters go to"),
    RouteKind.POISON: gettext_noop("poison messages go to"),
    RouteKind.EXPIRED: gettext_noop("expired messages go to"),
    RouteKind.RULE: gettext_noop("its rules for dead letters forward to"),
    RouteKind.DEAD_MESSAGES: gettext_noop("dead messages go to"),
}
LABELS = {
    RouteKind.READ: gettext_noop("links"),
    RouteKind.SENT: gettext_noop("links"),
    RouteKind.DEAD_LETTERS: gettext_noop("dead letters"),
    RouteKind.POISON: gettext_noop("poison messages"),
    RouteKind.EXPIRED: gettext_noop("expired messages"),
    RouteKind.RULE: gettext_noop("rules for dead letters"),
    RouteKind.DEAD_MESSAGES: gettext_noop("dead messages of links"),
}
OF_WAYS = {
    Way.DEAD_LETTERS: RouteKind.DEAD_LETTERS,
    Way.EXPIRED: RouteKind.EXPIRED,
    Way.POISON: RouteKind.POISON,
    Way.RULE: RouteKind.RULE,
}


class NodeKey(NamedTuple):
    """A node is known by its kind and name."""

    kind: NodeKind
    name: str


HIDDEN = NodeKey(NodeKind.HIDDEN, "")


@dataclass(frozen=True, slots=True)
class MapNode:
    """Something that messages come to."""

    key: NodeKey
    depth: QueueDepth | None = None  # of a queue
    link: LinkRow | None = None
    note: str = ""  # what else is to be known of it

    @property
    def kind(self) -> NodeKind:
        return self.key.kind

    @property
    def name(self) -> str:
        return self.key.name


@dataclass(frozen=True, slots=True)
class NodeRoute:
    """Messages go from one node to another."""

    source: NodeKey
    target: NodeKey
    kind: RouteKind
    detail: str = ""  # which messages, or for whom


@dataclass(frozen=True, slots=True)
class Network:
    """Some queues, and all that is connected to them."""

    nodes: Sequence[MapNode]
    routes: Sequence[NodeRoute]
    queues: int  # all queues that the user may inquire
    matching: int  # of these, those that the filter finds
    folded: int  # routes to queues that are not among the nodes

    @property
    def drawn(self) -> int:
        """The number of queues among the nodes."""
        return sum(one.depth is not None for one in self.nodes)


def simplified(network: Network) -> Network:
    """The network in which an address and its only queue, if that has the same name,
    are one node: the queue. Routes to the address lead to it."""
    fed: dict[NodeKey, list[NodeKey]] = defaultdict(list)
    for one in network.routes:
        if one.kind is RouteKind.FEEDS and not one.detail:
            fed[one.source].append(one.target)
    instead = {
        node.key: fed[node.key][0]
        for node in network.nodes
        if not node.note and [one.name for one in fed[node.key]] == [node.name]
    }
    routes = [
        replace(
            one,
            source=instead.get(one.source, one.source),
            target=instead.get(one.target, one.target),
        )
        for one in network.routes
        if one.kind is not RouteKind.FEEDS or one.source not in instead
    ]
    nodes = [one for one in network.nodes if one.key not in instead]
    return replace(network, nodes=nodes, routes=routes)
