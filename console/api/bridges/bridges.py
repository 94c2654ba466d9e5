"""Bridges and the status of their links; start, pause, resume and stop of links."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.bridges.commands import command, link_of
from broker.bridges.states import Command
from broker.errors.bridges import NoSuchBridge
from broker.errors.queues import NotAuthorized
from broker.models import Bridge, Link
from broker.security import authorities
from console.bridge_pages import sight
from console.bridge_pages.documents import OPERATE, VIEW, bridge_of, told
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody

router = Router(tags=["bridges"])


class LinkCounts(Schema):
    """Message counts of a link at each step, since it was created."""

    received: int
    duplicates: int
    looped: int
    expired: int
    transformed: int
    not_transferred: int
    branched: int
    sent: int
    dead: int


class LinkStanding(Schema):
    """A link and its status."""

    bridge: str
    link: str
    state: str  # UNINITIALIZED, STARTING, STARTED, PAUSING, PAUSED, STOPPING, STOPPED
    wanted: str  # the state last ordered; empty: no order yet
    enabled: bool
    transacted: bool
    source: str  # kind and name, such as "queue:orders"
    source_provider: str
    target: str  # kind and name, or AS_SOURCE
    target_provider: str
    error: str  # the last error, a sentence
    error_at: datetime | None
    # full or put-inhibited: it waits for its target, and goes on by itself
    waits_for: Literal["full", "put-inhibited"] | None
    last_transfer_at: datetime | None
    waiting: int | None  # messages at the source; null: unknown
    oldest_at: datetime | None  # when the oldest of the waiting messages was put
    counts: LinkCounts


class BridgeStanding(Schema):
    """A bridge with its links."""

    bridge: str
    description: str
    links: list[LinkStanding]


class Bridges(Schema):
    """Every bridge, by name."""

    bridges: list[BridgeStanding]


class LinkOrder(RequestBody):
    """The reason, for the audit."""

    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


@router.get("/bridges", response={200: Bridges, **REFUSED}, summary="The bridges")
def list_bridges(request: HttpRequest) -> dict[str, Any]:
    """All bridges, with the status of their links."""
    require(request, VIEW)
    links: dict[int, list[dict[str, Any]]] = {}
    for link in sight.visible(authorities.held_by(request.user)):
        links.setdefault(link.bridge_id, []).append(told(link))
    return {
        "bridges": [
            bridge_told(one, links[one.pk])
            for one in Bridge.objects.all()
            if one.pk in links
        ]
    }


@router.get(
    "/bridges/{queue:bridge}",
    response={200: BridgeStanding, **REFUSED},
    summary="A bridge",
)
def read_bridge(request: HttpRequest, bridge: Path[str]) -> dict[str, Any]:
    """One bridge, with the status of its links."""
    require(request, VIEW)
    found = bridge_of(bridge)
    every = sight.visible(authorities.held_by(request.user))
    links = [told(one) for one in every if one.bridge_id == found.pk]
    if not links and found.links.exists():
        raise NoSuchBridge(bridge)
    return bridge_told(found, links)


@router.get(
    "/bridges/{queue:bridge}/links/{queue:link}",
    response={200: LinkStanding, **REFUSED},
    summary="A link",
)
def read_link(request: HttpRequest, bridge: Path[str], link: Path[str]) -> Any:
    """The status of a link. Its definition is under ``…/definition``."""
    require(request, VIEW)
    return told(seen(request, bridge, link))


@router.post(
    "/bridges/{queue:bridge}/links/{queue:link}/start",
    response={200: LinkStanding, **REFUSED},
    summary="Start a link",
)
def start_link(
    request: HttpRequest, bridge: Path[str], link: Path[str], said: LinkOrder
) -> dict[str, Any]:
    """Starts the link; resumes a paused link. A disabled link cannot be started."""
    return ordered(request, bridge, link, Command.START, said)


@router.post(
    "/bridges/{queue:bridge}/links/{queue:link}/pause",
    response={200: LinkStanding, **REFUSED},
    summary="Pause a link",
)
def pause_link(
    request: HttpRequest, bridge: Path[str], link: Path[str], said: LinkOrder
) -> dict[str, Any]:
    """Pauses the link after the messages in hand. Connections stay open."""
    return ordered(request, bridge, link, Command.PAUSE, said)


@router.post(
    "/bridges/{queue:bridge}/links/{queue:link}/resume",
    response={200: LinkStanding, **REFUSED},
    summary="Resume a link",
)
def resume_link(
    request: HttpRequest, bridge: Path[str], link: Path[str], said: LinkOrder
) -> dict[str, Any]:
    """Resumes a paused link. No effect on a running link."""
    return ordered(request, bridge, link, Command.RESUME, said)


@router.post(
    "/bridges/{queue:bridge}/links/{queue:link}/stop",
    response={200: LinkStanding, **REFUSED},
    summary="Stop a link",
)
def stop_link(
    request: HttpRequest, bridge: Path[str], link: Path[str], said: LinkOrder
) -> dict[str, Any]:
    """Stops the link after the messages in hand, and closes its connections."""
    return ordered(request, bridge, link, Command.STOP, said)


def ordered(
    request: HttpRequest, bridge: str, link: str, what: Command, said: LinkOrder
) -> dict[str, Any]:
    """Record the order; the link's state shows how far it is carried out.

    Raises:
        CommandRefused: not possible in the link's state.
    """
    require(request, OPERATE)
    found = seen(request, bridge, link)
    sight.require(request.user, "set", found)
    command(found, what, reason=said.reason.strip())
    return told(link_of(bridge, link))


def seen(request: HttpRequest, bridge: str, link: str) -> Link:
    """A link that the caller may see.

    Raises:
        NoSuchBridge, NoSuchLink: there is none, or it has an end that is hidden.
    """
    found = link_of(bridge, link)
    try:
        sight.require(request.user, "inquire", found)
    except NotAuthorized:
        raise NoSuchBridge(bridge) from None
    return found


def bridge_told(bridge: Bridge, links: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bridge": bridge.name, "description": bridge.description, "links": links}
