"""Reads what is connected to some queues, with as many queries however many there
are."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext, ngettext

from broker.acts.objects import visible_links
from broker.acts.visible_queues import SIGHT
from broker.bridges.configured import is_here
from broker.config import configuration
from broker.config.auto_create import name_for
from broker.config.moves import dead_letter_target, of_threshold
from broker.config.transfers import Way
from broker.models import Binding, BridgeDestination, Subscription
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.security import authorities
from broker.security.authorities import Principal
from broker.settlement.expiry import expiry_target
from console.bridges.rows import LinkRow, rows_of
from console.edges.permissions import LINKS, may
from console.topology.network import (
    HIDDEN,
    OF_WAYS,
    NodeKey,
    NodeKind,
    NodeRoute,
    RouteKind,
)
from dashboards.live import depths

TAKERS = 3  # queues of an address that are drawn with those that messages come from
MOST_BINDINGS = 200
KEYS = 3  # routing keys that a route names


class Survey:
    """Queues, settings and links at one moment, as far as somebody may see them."""

    def __init__(self, actor: Principal) -> None:
        self.held = authorities.held_by(actor)
        self.found = configuration.whole()
        self.queues = {
            one.name: one
            for one in depths.queues(user=actor)
            if one.name in self.found.queues
        }
        self.links = rows_of(visible_links(self.held)) if may(actor, LINKS) else []

    def key_of_queue(self, name: str) -> NodeKey:
        return NodeKey(NodeKind.QUEUE, name) if self.held.on(SIGHT, name) else HIDDEN

    def key_of_address(self, name: str) -> NodeKey:
        """An address is hidden like a queue of its name, unless it feeds a queue that
        is not."""
        fed = self.found.fed_by(name)
        is_visible = self.held.on(SIGHT, name) or any(
            one.name in self.queues for one in fed
        )
        return NodeKey(NodeKind.ADDRESS, name) if is_visible else HIDDEN

    def takers(self, address: str, origin: str = "") -> list[str]:
        """The first queues of an address that one may see: that which was created for
        messages of another address, then the deepest."""
        rule = self.found.merged(origin)
        prefix, suffix = rule.dead_letter_queue_prefix, rule.dead_letter_queue_suffix
        own = name_for(origin, prefix or "", suffix or "")
        names = (one.name for one in self.found.fed_by(address))
        return heapq.nsmallest(
            TAKERS,
            filter(self.queues.__contains__, names),
            key=lambda one: (one != own, -self.queues[one].total, one),
        )

    def moves_of(self, name: str) -> Iterator[tuple[RouteKind, NodeKey]]:
        """Where the messages of a queue are moved to by themselves."""
        row = self.found.queues[name]
        merged = self.found.merged(row.address)
        if to := dead_letter_target(row, merged):
            yield RouteKind.DEAD_LETTERS, self.key_of_address(to)
        to = expiry_target(row.address, row.backout_threshold, merged)
        if to and not merged.no_expiry:
            yield RouteKind.EXPIRED, self.key_of_address(to)
        for move in of_threshold(row, self.found):
            yield RouteKind.POISON, self.key_of_queue(move.target)
        for one in self.found.transfers:
            if one.way is Way.RULE and one.source.name == name:
                target = self.found.queue(one.target.name)
                to = target.name if target else one.target.name
                yield OF_WAYS[one.way], self.key_of_queue(to)

    def onward(self, name: str) -> Iterator[str]:
        """The queues that the messages of a queue are moved to."""
        for _, key in self.moves_of(name):
            if key.kind is NodeKind.ADDRESS:
                origin = self.found.queues[name].address
                yield from self.takers(key.name, origin)
            elif key.name in self.queues:
                yield key.name

    def ends_of(self, row: LinkRow) -> tuple[NodeKey, NodeKey]:
        """The source and the target of a link."""
        link = row.link
        at, target = link.source, link.target or link.source
        if not is_here(link.source_factory):
            source = elsewhere(at, f"{link.bridge.name}/{link.source_factory.name}")
        elif at.kind == BridgeDestination.Kind.QUEUE:
            queue = self.found.queue(at.name)
            source = self.key_of_queue(queue.name if queue else at.name)
        else:
            source = self.key_of_address(self.address_of(at.name))
        if not is_here(link.target_factory):
            factory = link.target_factory.name
            return source, elsewhere(target, f"{link.bridge.name}/{factory}")
        return source, self.key_of_address(self.address_of(target.name))

    def address_of(self, name: str) -> str:
        """The address that a producer with a destination of this name sends to; by the
        same rules as ``broker.config.names``."""
        address = self.found.aliases.get(name, name)
        queue = None if self.found.fed_by(address) else self.found.queue(name)
        return queue.address if queue else address

    def queues_of(self, links: Iterable[LinkRow]) -> Iterator[str]:
        """The queues here at which links begin and end."""
        for key in (end for row in links for end in self.ends_of(row)):
            if key.kind is NodeKind.ADDRESS:
                yield from self.takers(key.name)
            elif key.kind is NodeKind.QUEUE and key.name in self.queues:
                yield key.name

    def routes(
        self, names: Sequence[str], links: Iterable[LinkRow]
    ) -> Iterator[NodeRoute]:
        """All routes to and from some queues and links. Two queries."""
        yield from self.routes_of_links(links)
        clients = subscribers(names)
        for name in names:
            row = self.found.queues[name]
            address, queue = (
                NodeKey(NodeKind.ADDRESS, row.address),
                NodeKey(NodeKind.QUEUE, name),
            )
            detail = clients.get(name, "")
            if not detail and row.selector:
                detail = gettext("by its selector")
            yield NodeRoute(address, queue, RouteKind.FEEDS, detail)
            for kind, target in self.moves_of(name):
                yield NodeRoute(queue, target, kind)
        yield from bindings(names)
        fed = {self.found.queues[name].address for name in names}
        for alias, to in self.found.aliases.items():
            if to in names or to in fed:
                of = NodeKind.QUEUE if to in names else NodeKind.ADDRESS
                source = NodeKey(NodeKind.ALIAS, alias)
                yield NodeRoute(source, NodeKey(of, to), RouteKind.ALIAS)

    def routes_of_links(self, links: Iterable[LinkRow]) -> Iterator[NodeRoute]:
        for row in links:
            (source, target), link = self.ends_of(row), key_of_link(row)
            yield NodeRoute(source, link, RouteKind.READ)
            yield NodeRoute(link, target, RouteKind.SENT)
            if BUILT_IN_QUEUE in self.found.queues:
                dead = self.key_of_queue(BUILT_IN_QUEUE)
                yield NodeRoute(link, dead, RouteKind.DEAD_MESSAGES)


def key_of_link(row: LinkRow) -> NodeKey:
    return NodeKey(NodeKind.LINK, str(row.link))


def elsewhere(at: BridgeDestination, factory: str) -> NodeKey:
    if at.kind == BridgeDestination.Kind.QUEUE:
        text = gettext("queue %(name)s at %(factory)s")
    else:
        text = gettext("topic %(name)s at %(factory)s")
    return NodeKey(NodeKind.ELSEWHERE, text % {"name": at.name, "factory": factory})


def subscribers(names: Iterable[str]) -> dict[str, str]:
    """The names of subscriptions, by their queues. One query."""
    found = Subscription.objects.filter(queue__name__in=list(names))
    rows = found.values_list("queue__name", "name", "client_id")
    named = {queue: name or client_id for queue, name, client_id in rows}
    text = gettext("for subscription %(name)s")
    return {queue: text % {"name": name} for queue, name in named.items() if name}


def bindings(names: Iterable[str]) -> Iterator[NodeRoute]:
    """The exchanges that send to the addresses of queues. One query."""
    keys: dict[tuple[str, str], list[str]] = defaultdict(list)
    found = Binding.objects.filter(queue__name__in=list(names)).order_by("pk")
    columns = ("exchange", "queue__address__name", "routing_key")
    for exchange, address, key in found.values_list(*columns)[:MOST_BINDINGS]:
        keys[exchange, address].append(key)
    for (exchange, address), by in keys.items():
        detail = by_keys(by) if any(by) else ""
        source, target = (
            NodeKey(NodeKind.EXCHANGE, exchange),
            NodeKey(NodeKind.ADDRESS, address),
        )
        yield NodeRoute(source, target, RouteKind.BINDING, detail)


def by_keys(keys: Sequence[str]) -> str:
    """The first routing keys by which an exchange sends, and how many more."""
    named, left = ", ".join(keys[:KEYS]), len(keys) - KEYS
    if left <= 0:
        return gettext("by %(keys)s") % {"keys": named}
    text = ngettext("by %(keys)s and %(n)s more", "by %(keys)s and %(n)s more", left)
    return text % {"keys": named, "n": left}
