"""The picture of the topology."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from broker.security import authorities
from console.bridges import live
from console.topology.drawing import draw
from console.topology.network import simplified
from console.topology.reading import read_network

LONGEST = 255  # characters of the filter


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def topology(request: HttpRequest) -> HttpResponse:
    """Queues, addresses and links, and where messages go from each. Numbers are live
    as in their lists."""
    text = request.GET.get("q", "").strip()[:LONGEST]
    network = simplified(read_network(request.user, text))
    has_links = any(one.link for one in network.nodes)
    is_every = authorities.held_by(request.user).everywhere("inquire")
    context = {
        "text": text,
        "network": network,
        "drawing": draw(network),
        "left_out": max(network.matching - network.drawn, 0),
        "is_part": network.drawn < network.matching,
        "topic": f"links={live.EVERY}" if has_links and is_every else "",
    }
    return render(request, "console/topology/topology.html", context)
