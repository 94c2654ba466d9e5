"""Bridges and the status of their links; start, pause, resume and stop of links."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Path, Router, Schema

from broker.acts.bridges import (
    LinkStanding,
    pause_link,
    resume_link,
    start_link,
    stop_link,
)
from broker.acts.objects import find_link, visible_links
from broker.errors.bridges import NoSuchBridge
from broker.models import Bridge
from broker.security import authorities
from console.bridges.documents import bridge_of, link_document
from console.edges.permissions import LINKS
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require

router = Router(tags=["bridges"])


class BridgeStanding(Schema):
    """A bridge with its links."""

    bridge: str
    description: str
    links: list[LinkStanding]


class Bridges(Schema):
    """Every bridge, by name."""

    bridges: list[BridgeStanding]


@router.get("/bridges", response={200: Bridges, **REFUSED}, summary="The bridges")
def list_bridges(request: HttpRequest) -> dict[str, Any]:
    """All bridges, with the status of their links."""
    require(request, LINKS)
    links: dict[int, list[dict[str, Any]]] = {}
    for link in visible_links(authorities.held_by(request.user)):
        links.setdefault(link.bridge_id, []).append(link_document(link))
    return {
        "bridges": [
            bridge_document(one, links[one.pk])
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
    require(request, LINKS)
    found = bridge_of(bridge)
    held = authorities.held_by(request.user)
    links = [link_document(one) for one in visible_links(held, bridge=found)]
    if not links and found.links.exists():
        raise NoSuchBridge(bridge)
    return bridge_document(found, links)


@router.get(
    "/bridges/{queue:bridge}/links/{queue:link}",
    response={200: LinkStanding, **REFUSED},
    summary="A link",
)
def read_link(request: HttpRequest, bridge: Path[str], link: Path[str]) -> Any:
    """The status of a link. Its definition is under ``…/definition``."""
    require(request, LINKS)
    return link_document(find_link(authorities.held_by(request.user), bridge, link))


for word, one in (
    ("start", start_link),
    ("pause", pause_link),
    ("resume", resume_link),
    ("stop", stop_link),
):
    serve(router, "POST", f"/bridges/{{queue:bridge}}/links/{{queue:link}}/{word}", one)


def bridge_document(bridge: Bridge, links: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bridge": bridge.name, "description": bridge.description, "links": links}
