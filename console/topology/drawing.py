"""The network in columns, as coordinates for an SVG.

Messages go from left to right: from elsewhere, by links, to addresses and their queues,
and on to where dead letters and links lead. A column without nodes is left out. Lengths
are in pixels, from the top left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from statistics import fmean

from django.utils.translation import gettext_noop

from console.topology.network import (
    MapNode,
    Network,
    NodeKey,
    NodeKind,
    NodeRoute,
    RouteKind,
)

WIDTH, HEIGHT = 172, 80  # of a node
ACROSS, DOWN = WIDTH + 40, HEIGHT + 16  # from a node to the next
TOP, EDGE = 36, 4  # TOP: room for the heads of columns
BESIDE = 26  # how far a line goes round, if it does not go to the right
NEAREST = 5  # neighbours that decide the place of a node
MOVES = (RouteKind.DEAD_LETTERS, RouteKind.EXPIRED)  # to addresses
ENDINGS = (RouteKind.POISON, RouteKind.RULE, RouteKind.DEAD_MESSAGES)  # to queues
ABOVE = {RouteKind.POISON: -9, RouteKind.RULE: -9, RouteKind.EXPIRED: 9}


class DrawnColumn(IntEnum):
    """The columns, from left to right."""

    FIRST, IN, ADDRESSES, QUEUES, OUT, ENDS = range(6)


HEADS = {
    DrawnColumn.FIRST: gettext_noop("From elsewhere"),
    DrawnColumn.IN: gettext_noop("Ways in"),
    DrawnColumn.ADDRESSES: gettext_noop("Addresses"),
    DrawnColumn.QUEUES: gettext_noop("Queues"),
    DrawnColumn.OUT: gettext_noop("Ways out"),
    DrawnColumn.ENDS: gettext_noop("Where these lead"),
}
USUAL = {
    NodeKind.ELSEWHERE: DrawnColumn.ENDS,
    NodeKind.EXCHANGE: DrawnColumn.IN,
    NodeKind.ALIAS: DrawnColumn.IN,
    NodeKind.LINK: DrawnColumn.OUT,
    NodeKind.ADDRESS: DrawnColumn.ADDRESSES,
    NodeKind.QUEUE: DrawnColumn.QUEUES,
    NodeKind.HIDDEN: DrawnColumn.ENDS,
}
LISTED = (NodeKind.QUEUE, NodeKind.LINK, *NodeKind)
# Queues have their places first, each other column beside those that have theirs; the
# ways out twice, before and after what lies beyond them.
IN_ORDER = (
    *(DrawnColumn.ADDRESSES, DrawnColumn.OUT, DrawnColumn.ENDS, DrawnColumn.OUT),
    *(DrawnColumn.IN, DrawnColumn.FIRST),
)


@dataclass(frozen=True, slots=True)
class Box:
    """A node at its place."""

    node: MapNode
    x: int
    y: int
    onward: Sequence[NodeRoute]  # the routes that begin there


@dataclass(frozen=True, slots=True)
class RouteLine:
    """A route as a path of SVG, with its head."""

    route: NodeRoute
    path: str


@dataclass(frozen=True, slots=True)
class NetworkDrawing:
    """A drawing."""

    boxes: Sequence[Box]
    lines: Sequence[RouteLine]
    heads: Sequence[tuple[int, str]]  # the left edges of columns, and their names
    width: int
    height: int
    box_width: int = WIDTH
    box_height: int = HEIGHT

    @property
    def kinds(self) -> list[RouteKind]:
        """One kind of each label in the legend."""
        there = {line.route.kind for line in self.lines}
        kinds = {kind.label: kind for kind in RouteKind if kind in there}
        return list(kinds.values())

    @property
    def listed(self) -> list[Box]:
        """The boxes for a list: the queues, then the links, then all others."""
        return sorted(self.boxes, key=lambda box: LISTED.index(box.node.kind))


def draw(network: Network) -> NetworkDrawing:
    """Give each node and each route its place."""
    columns = columns_of(network)
    rows = rows_of(network, columns)
    used = sorted(set(columns.values()))
    left = {one: EDGE + place * ACROSS for place, one in enumerate(used)}
    onward: dict[NodeKey, list[NodeRoute]] = defaultdict(list)
    for route in network.routes:
        onward[route.source].append(route)
    boxes = [
        Box(one, left[columns[one.key]], TOP + rows[one.key], onward[one.key])
        for one in network.nodes
    ]
    places = {box.node.key: box for box in boxes}
    return NetworkDrawing(
        sorted(boxes, key=lambda box: (box.x, box.y)),
        [
            RouteLine(one, path(places[one.source], places[one.target], one.kind))
            for one in network.routes
        ],
        [(left[one], HEADS[one]) for one in used],
        width=len(used) * ACROSS,
        height=TOP + max(rows.values(), default=0) + HEIGHT + EDGE,
    )


def columns_of(network: Network) -> dict[NodeKey, DrawnColumn]:
    """The column of each node, by its part in the routes."""
    routes = network.routes
    arriving = {one.target for one in routes}
    lost = {one.target for one in routes if one.kind in MOVES}
    places = {one.key: USUAL[one.key.kind] for one in network.nodes}
    for one in routes:
        if one.source.kind is NodeKind.ELSEWHERE:
            places[one.target] = DrawnColumn.IN
            places[one.source] = (
                DrawnColumn.ENDS if one.source in arriving else DrawnColumn.FIRST
            )
        elif one.kind in MOVES and one.target.kind is NodeKind.ADDRESS:
            places[one.target] = DrawnColumn.OUT
        elif one.kind in (*MOVES, *ENDINGS) or one.source in lost:
            places[one.target] = DrawnColumn.ENDS
    fed = [one for one in routes if one.kind is RouteKind.FEEDS]
    near = {one.source for one in fed if places[one.target] is DrawnColumn.QUEUES}
    places |= {one.source: DrawnColumn.OUT for one in fed if one.source not in near}
    return places


def rows_of(
    network: Network, columns: Mapping[NodeKey, DrawnColumn]
) -> dict[NodeKey, int]:
    """How far down each node is: queues in their order, those of one address together;
    all others beside what they are connected to."""
    beside: dict[NodeKey, list[NodeKey]] = defaultdict(list)
    feeds: dict[NodeKey, NodeKey] = {}
    for route in network.routes:
        beside[route.source].append(route.target)
        beside[route.target].append(route.source)
        if route.kind is RouteKind.FEEDS:
            feeds[route.target] = route.source
    queues = [
        one.key for one in network.nodes if columns[one.key] == DrawnColumn.QUEUES
    ]
    first = {feeds.get(key): n for n, key in reversed([*enumerate(queues)])}
    queues.sort(key=lambda key: first[feeds.get(key)])
    rows = {key: n * DOWN for n, key in enumerate(queues)}
    for column in IN_ORDER:
        keys = [one.key for one in network.nodes if columns[one.key] == column]
        rows |= settle({key: level(beside[key], rows) for key in keys})
    return rows


def level(neighbours: Iterable[NodeKey], rows: Mapping[NodeKey, int]) -> float:
    """Where a node is best: among the first of its neighbours that have a place."""
    placed = sorted(rows[one] for one in neighbours if one in rows)[:NEAREST]
    return fmean(placed) if placed else float(max(rows.values(), default=0))


def settle(best: Mapping[NodeKey, float]) -> dict[NodeKey, int]:
    """The places of a column's nodes: as near to the best ones as there is room."""
    rows: dict[NodeKey, int] = {}
    free = 0
    for key in sorted(best, key=lambda one: best[one]):
        rows[key] = max(free, round(best[key]))
        free = rows[key] + DOWN
    return rows


def path(source: Box, target: Box, kind: RouteKind) -> str:
    """A line from a node to another: to the right, or round to the left."""
    shift = HEIGHT // 2 + ABOVE.get(kind, 0)
    y, to_y = source.y + shift, target.y + shift
    if source.x < target.x:
        x, to_x = source.x + WIDTH, target.x
        bend = max(BESIDE, (to_x - x) // 2)
        curve = f"C{x + bend} {y} {to_x - bend} {to_y} {to_x} {to_y}"
        return f"M{x} {y}{curve}m-6-4 6 4-6 4"
    if source.x - target.x > ACROSS:  # through the gap above the target
        x, gap = source.x, target.y - (DOWN - HEIGHT) // 2
        to_x = target.x + WIDTH - BESIDE
        turn = f"C{x - BESIDE} {y} {x} {gap} {x - BESIDE} {gap}H{to_x + 8}"
        return f"M{x} {y}{turn}Q{to_x} {gap} {to_x} {target.y}m-4-6 4 6 4-6"
    is_same = source.x == target.x
    x, to_x = source.x + WIDTH * is_same, target.x + WIDTH
    bend = x + (BESIDE if is_same else -BESIDE)
    curve = f"C{bend} {y} {to_x + BESIDE} {to_y} {to_x} {to_y}"
    return f"M{x} {y}{curve}m6-4-6 4 6 4"
