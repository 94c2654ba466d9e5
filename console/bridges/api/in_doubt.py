"""What a link could not carry: its transactions in doubt, and its dead messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema

from broker.acts.bridges import (
    commit_link_branch,
    resubmit_through_link,
    roll_back_link_branch,
)
from broker.acts.objects import find_link
from broker.models import Branch
from broker.security import authorities
from console.edges.permissions import LINKS
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.queues import over_time
from console.queues.history_points import HistoryPoints, Window, points_of

router = Router(tags=["bridges"])

LINK = "/bridges/{queue:bridge}/links/{queue:link}"
MOST = 1000  # transactions in one response


class LinkBranch(Schema):
    """A transaction of a link between two brokers that has not ended."""

    xid: str
    # decided: committed here, to be committed there; prepared: the marker there decides
    kind: str
    messages: int
    began_at: datetime


class LinkBranches(Schema):
    """The transactions of a link in doubt, the oldest first."""

    branches: list[LinkBranch]


@router.get(
    f"{LINK}/branches",
    response={200: LinkBranches, **REFUSED},
    summary="Transactions of a link in doubt",
)
def list_link_branches(
    request: HttpRequest, bridge: Path[str], link: Path[str]
) -> dict[str, Any]:
    """Transactions that the link ends itself as soon as it runs and both providers
    answer.
    """
    require(request, LINKS)
    found = Branch.objects.filter(
        link=find_link(authorities.held_by(request.user), bridge, link)
    )
    rows = found.order_by("began_at").values("xid", "kind", "messages", "began_at")
    return {"branches": list(rows[:MOST])}


for word, one in (("commit", commit_link_branch), ("roll-back", roll_back_link_branch)):
    serve(router, "POST", f"{LINK}/branches/{{queue:xid}}/{word}", one)


serve(router, "POST", f"{LINK}/resubmit", resubmit_through_link)


@router.get(
    f"{LINK}/history",
    response={200: HistoryPoints, **REFUSED},
    summary="What a link did over time",
)
def read_link_history(
    request: HttpRequest, bridge: Path[str], link: Path[str], window: Query[Window]
) -> dict[str, Any]:
    """As the history of a queue: ``ready`` are the messages at its source,
    ``added_per_s`` those received, ``removed_per_s`` those sent.
    """
    require(request, LINKS)
    found = find_link(authorities.held_by(request.user), bridge, link)
    return points_of(over_time.ids_of_link(found), window)
