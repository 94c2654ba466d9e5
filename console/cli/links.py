"""``backout link``: what a link could not carry."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django.http import Http404
from typer import Argument, Option

from broker.bridges import deciding
from broker.errors.bridges import NoSuchBranch
from broker.models import Branch, Link
from broker.security.authorities import Principal
from console.accounts import permissions
from console.bridge_pages import sight
from console.bridge_pages.resubmission import plan_through
from console.cli.operations import tell as tell_operation
from console.cli.uow import NOT_DONE, require_reason
from console.edges import people
from console.edges.options import Json, Reason, User, Yes
from console.edges.people import REFUSED

BridgeName = Annotated[str, Option("-bn", help="The name of the bridge.")]
LinkName = Annotated[str, Option("-ln", help="The name of the link.")]
Xid = Annotated[str, Argument(help="The transaction, as branches lists it.")]
Group = Annotated[str, Option(help="Only dead letters with this fingerprint.")]
Message = Annotated[int | None, Option(help="Only this message.", min=1)]


def branches(
    self: Any, *, bn: BridgeName, ln: LinkName, user: User = None, json: Json = False
) -> None:
    """List transactions in doubt, the oldest first."""
    person = people.acting(user)
    people.require(person, sight.VIEW)
    found = Branch.objects.filter(link=link_of(person, bn, ln)).order_by("began_at")
    rows = list(found.values("xid", "kind", "messages", "began_at"))
    self.tell_rows("branches", rows, as_json=json, empty="No transaction is in doubt.")


def commit(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    xid: Xid,
    *,
    bn: BridgeName,
    ln: LinkName,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Commit a transaction in place of the link, whose provider is gone for good."""
    branch = branch_of(people.acting(user), bn, ln, xid)
    decide(self, branch, reason, does=yes, as_json=json, commits=True)


def roll_back(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    xid: Xid,
    *,
    bn: BridgeName,
    ln: LinkName,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Roll a transaction back in place of the link."""
    branch = branch_of(people.acting(user), bn, ln, xid)
    decide(self, branch, reason, does=yes, as_json=json, commits=False)


def decide(
    self: Any, branch: Branch, reason: str, *, does: bool, as_json: bool, commits: bool
) -> None:
    """Commit or roll back, or say what would be done."""
    words = "committed" if commits else "rolled back"
    if does:
        require_reason(reason, "This decision")
        deciding.decide(branch.xid, commit=commits, reason=reason.strip())
        said = f"{branch.xid} is {words}."
    else:
        said = f"{branch.xid} would be {words}. {NOT_DONE}"
    self.tell({"xid": branch.xid, "done": does}, said, as_json=as_json)


def resubmit(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    *,
    bn: BridgeName,
    ln: LinkName,
    message: Message = None,
    group: Group = "",
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Plan to resubmit dead messages of a link through it; start that plan."""
    person = people.somebody(user)
    people.require(person, permissions.CHANGE)
    people.require(person, sight.VIEW)
    plan = plan_through(
        person,
        link_of(person, bn, ln),
        message_id=message,
        fingerprint=group,
        reason=reason.strip(),
    )
    tell_operation(self, person, plan.pk, as_json=json)


def link_of(person: Principal, bridge: str, link: str) -> Link:
    """A link that the user may see."""
    try:
        return sight.found(person, bridge, link)
    except Http404:
        raise CommandError(
            f"There is no link {bridge}/{link}.", returncode=REFUSED
        ) from None


def branch_of(person: Any, bridge: str, link: str, xid: str) -> Branch:
    """A transaction of a link that the user may decide."""
    people.require(person, sight.DECIDE)
    one = link_of(person, bridge, link)
    sight.require(person, "set", one)
    found = Branch.objects.filter(link=one, xid=xid).first()
    if found is None:
        raise NoSuchBranch(xid)
    return found
