"""``backout link``: its transactions in doubt."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from broker.acts.objects import find_link
from broker.models import Branch
from broker.security import authorities
from console.edges.commands import actors
from console.edges.commands.options import Json, User
from console.edges.permissions import LINKS

BridgeName = Annotated[str, Argument(help="The name of the bridge.")]
LinkName = Annotated[str, Argument(help="The name of the link.")]


def branches(
    self: Any,
    bridge: BridgeName,
    link: LinkName,
    *,
    user: User = None,
    json: Json = False,
) -> None:
    """List transactions in doubt, the oldest first."""
    person = actors.acting(user)
    actors.require(person, LINKS)
    of = find_link(authorities.held_by(person), bridge, link)
    found = Branch.objects.filter(link=of).order_by("began_at")
    rows = list(found.values("xid", "kind", "messages", "began_at"))
    self.tell_rows("branches", rows, as_json=json, empty="No transaction is in doubt.")
