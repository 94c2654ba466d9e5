"""``backout link``: what a link could not carry."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument, Option

from broker.acts.objects import find_link
from broker.models import Branch
from broker.security import authorities
from console.bridges.resubmission import plan_through
from console.edges import permissions
from console.edges.commands import actors
from console.edges.commands.options import Json, Reason, User
from console.edges.permissions import LINKS
from console.operations.cli.operations import tell as tell_operation

BridgeName = Annotated[str, Argument(help="The name of the bridge.")]
LinkName = Annotated[str, Argument(help="The name of the link.")]
Group = Annotated[str, Option(help="Only dead letters with this fingerprint.")]
Message = Annotated[int | None, Option(help="Only this message.", min=1)]


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


def resubmit(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    bridge: BridgeName,
    link: LinkName,
    *,
    message: Message = None,
    group: Group = "",
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Plan to resubmit dead messages of a link through it; start that plan."""
    person = actors.somebody(user)
    actors.require(person, permissions.CHANGE)
    actors.require(person, LINKS)
    plan = plan_through(
        person,
        find_link(authorities.held_by(person), bridge, link),
        message_id=message,
        fingerprint=group,
        reason=reason.strip(),
    )
    tell_operation(self, person, plan.pk, as_json=json)
