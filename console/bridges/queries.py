"""Bridges, their links and what these could not carry, for REST and commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from broker.acts.bridges import LinkStanding, read_standing
from broker.acts.declaring import Holds
from broker.acts.objects import find_link, visible_links
from broker.errors.bridges import NoSuchBridge
from broker.models import Branch, Bridge, Link
from broker.security import authorities
from broker.security.authorities import Principal
from console.bridges.documents import bridge_of
from console.edges.permissions import LINKS
from console.edges.queries import All, build_answer, declared_query
from console.queues import over_time
from console.queues.history_points import HistoryPoints, Window, points_of

MOST = 1000  # transactions in one answer
BridgeName = Annotated[str, Holds("The name of the bridge.", most=255)]
LinkName = Annotated[str, Holds("The name of the link.", most=255)]


@dataclass(frozen=True, slots=True)
class BridgeStanding:
    """A bridge with its links."""

    bridge: str
    description: str
    links: list[LinkStanding]

    def __str__(self) -> str:
        return f"Bridge {self.bridge}. {self.description}".strip()


@dataclass(frozen=True, slots=True)
class Bridges:
    """Every bridge, by name."""

    bridges: list[BridgeStanding]


@declared_query(LINKS)
def list_bridges(actor: Principal, request: All) -> Bridges:
    """The bridges, with the status of their links."""
    links: dict[int, list[Link]] = {}
    for link in visible_links(authorities.held_by(actor)):
        links.setdefault(link.bridge_id, []).append(link)
    seen = [one for one in Bridge.objects.all() if one.pk in links]
    return Bridges([standing_of(one, links[one.pk]) for one in seen])


@dataclass(frozen=True, slots=True)
class ReadBridge:
    """The bridge."""

    bridge: BridgeName


@declared_query(LINKS)
def read_bridge(actor: Principal, request: ReadBridge) -> BridgeStanding:
    """A bridge, with the status of its links."""
    found = bridge_of(request.bridge)
    links = visible_links(authorities.held_by(actor), bridge=found)
    if not links and found.links.exists():
        raise NoSuchBridge(request.bridge)
    return standing_of(found, links)


def standing_of(bridge: Bridge, links: Iterable[Link]) -> BridgeStanding:
    standings = [read_standing(one) for one in links]
    return BridgeStanding(bridge.name, bridge.description, standings)


@dataclass(frozen=True, slots=True)
class ReadLink:
    """The link."""

    bridge: BridgeName
    link: LinkName


@declared_query(LINKS)
def read_link(actor: Principal, request: ReadLink) -> LinkStanding:
    """A link and its status. Its definition is under ``…/definition``."""
    held = authorities.held_by(actor)
    return read_standing(find_link(held, request.bridge, request.link))


@dataclass(frozen=True, slots=True)
class LinkBranch:
    """A transaction of a link between two brokers that has not ended."""

    xid: str
    # decided: committed here, and not yet at the other broker. prepared: the marker at
    # the other broker decides.
    kind: str
    messages: int
    began_at: datetime


@dataclass(frozen=True, slots=True)
class LinkBranches:
    """The transactions of a link in doubt, the oldest first."""

    empty: ClassVar = "No transaction is in doubt."

    branches: Sequence[LinkBranch]


@declared_query(LINKS)
def list_link_branches(actor: Principal, request: ReadLink) -> LinkBranches:
    """Transactions of a link in doubt, the oldest first.

    The link ends them itself as soon as it runs and both providers answer.
    """
    link = find_link(authorities.held_by(actor), request.bridge, request.link)
    found = Branch.objects.filter(link=link).order_by("began_at")[:MOST]
    return LinkBranches([build_answer(LinkBranch, one) for one in found])


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWindow(Window):
    """A link, and a range of time."""

    bridge: BridgeName
    link: LinkName


@declared_query(LINKS)
def read_link_history(actor: Principal, request: LinkWindow) -> HistoryPoints:
    """What a link did over time.

    As the history of a queue: ``ready`` are the messages at its source, ``added_per_s``
    those received, ``removed_per_s`` those sent.
    """
    link = find_link(authorities.held_by(actor), request.bridge, request.link)
    return points_of(over_time.ids_of_link(link), request)
