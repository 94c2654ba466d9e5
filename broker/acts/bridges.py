"""Acts on links of bridges: start, pause, resume, stop, end what is in doubt, and plan
to send dead messages again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, ClassVar

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason, declared
from broker.acts.objects import find_link
from broker.acts.operations import rights
from broker.acts.operations.control import LOOK, ordered
from broker.acts.operations.states import OperationState, read_state
from broker.bridges import deciding, resubmit, standing
from broker.bridges.commands import command
from broker.bridges.states import Command
from broker.errors.bridges import Hold
from broker.errors.operations import NothingChosen
from broker.models import Act, BridgeDestination, Link, LinkState, Operation
from broker.models.bridge_names import AS_SOURCE
from broker.monitoring.visible_groups import queues_for
from broker.operations import Chosen, Order
from broker.operations.scopes import describe_letters, describe_message
from broker.security.authorities import EVERYTHING, Authority, Principal, held_by

OPERATE, DECIDE = "broker.operate_link", "broker.decide_branch"
LINKS = "broker.view_link"
# Authority on the queues that a link uses here.
SET: dict[str, Authority] = {"link": "set"}

BridgeName = Annotated[str, Holds(gettext_noop("The name of the bridge."))]
LinkName = Annotated[
    str, Holds(gettext_noop("The name of the link."), names="link", within=("bridge",))
]


@dataclass(frozen=True, slots=True)
class LinkCounts:
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


@dataclass(frozen=True, slots=True)
class LinkStanding:
    """A link and its status."""

    columns: ClassVar = (
        *("bridge", "link", "state", "source", "target", "transacted", "waiting"),
        *("waits_for", "error"),
    )

    bridge: str
    link: str
    state: LinkState
    wanted: str  # the state last ordered; empty: no order yet
    enabled: bool
    transacted: bool
    source: str  # kind and name, such as "queue:orders"
    source_provider: str
    target: str  # kind and name, or AS_SOURCE
    target_provider: str
    error: str  # the last error, a sentence
    error_at: datetime | None
    waits_for: Hold | None  # why the link waits for its target; null: it does not
    last_transfer_at: datetime | None
    waiting: int | None  # messages at the source; null: unknown
    oldest_at: datetime | None  # when the oldest of the waiting messages was put
    counts: LinkCounts


def read_standing(link: Link) -> LinkStanding:
    """A link and its status."""
    status = standing.status_of(link)
    return LinkStanding(
        bridge=link.bridge.name,
        link=link.name,
        state=LinkState(status.state),
        wanted=status.wanted,
        enabled=link.enabled,
        transacted=link.transacted,
        source=name_end(link.source),
        source_provider=link.source_factory.provider,
        target=AS_SOURCE if link.target is None else name_end(link.target),
        target_provider=link.target_factory.provider,
        error=status.error,
        error_at=status.error_at,
        waits_for=standing.held_by(status),
        last_transfer_at=status.last_transfer_at,
        waiting=status.waiting,
        oldest_at=status.oldest_at,
        counts=LinkCounts(
            **{one.name: getattr(status, one.name) for one in fields(LinkCounts)}
        ),
    )


def name_end(destination: BridgeDestination) -> str:
    """An end of a link in Open MQ's notation."""
    return f"{destination.kind}:{destination.name}"


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """The link."""

    bridge: BridgeName
    link: LinkName
    reason: Reason = ""


class StartLink(LinkRequest):
    """The link."""


class PauseLink(LinkRequest):
    """The link."""


class ResumeLink(LinkRequest):
    """The link."""


class StopLink(LinkRequest):
    """The link."""


@dataclass(frozen=True, slots=True)
class LinkOrdered(LinkStanding):
    """The link; its state shows how far the order is carried out."""

    changed: bool  # false: the order does not change the link's state

    def __str__(self) -> str:
        name, already = f"{self.bridge}/{self.link}", "" if self.changed else " already"
        return f"{name} is {self.state}{already}."


@declared(permission=OPERATE, recorded_as=Act.START_LINK, authorities=SET)
def start_link(actor: Principal, request: StartLink) -> LinkOrdered:
    """Start a link.

    A paused link is resumed. A disabled link cannot be started.
    """
    return order(request, Command.START)


@declared(permission=OPERATE, recorded_as=Act.PAUSE_LINK, authorities=SET)
def pause_link(actor: Principal, request: PauseLink) -> LinkOrdered:
    """Pause a link after the messages in hand.

    Its connections stay open.
    """
    return order(request, Command.PAUSE)


@declared(permission=OPERATE, recorded_as=Act.RESUME_LINK, authorities=SET)
def resume_link(actor: Principal, request: ResumeLink) -> LinkOrdered:
    """Resume a paused link.

    It has no effect on a link that runs.
    """
    return order(request, Command.RESUME)


@declared(permission=OPERATE, recorded_as=Act.STOP_LINK, authorities=SET)
def stop_link(actor: Principal, request: StopLink) -> LinkOrdered:
    """Stop a link after the messages in hand.

    Its connections are closed.
    """
    return order(request, Command.STOP)


def order(request: LinkRequest, what: Command) -> LinkOrdered:
    found = find_link(EVERYTHING, request.bridge, request.link)
    changed = command(found, what, reason=request.reason.strip())
    after = read_standing(find_link(EVERYTHING, request.bridge, request.link))
    told = {one.name: getattr(after, one.name) for one in fields(after)}
    return LinkOrdered(**told, changed=changed)


@dataclass(frozen=True, slots=True)
class LinkBranchRequest:
    """The transaction, and why: whoever compares both sides later reads it."""

    bridge: BridgeName
    link: Annotated[str, Holds(gettext_noop("The name of the link."))]
    xid: Annotated[
        str,
        Holds(
            gettext_noop("The transaction, as listed."),
            names="branch",
            within=("bridge", "link"),
        ),
    ]
    reason: Reason = ""


class CommitLinkBranch(LinkBranchRequest):
    """The transaction, and why: whoever compares both sides later reads it."""


class RollBackLinkBranch(LinkBranchRequest):
    """The transaction, and why: whoever compares both sides later reads it."""


@dataclass(frozen=True, slots=True)
class LinkBranchEnded:
    """The transaction that has ended."""

    xid: str
    committed: bool  # false: rolled back

    def __str__(self) -> str:
        return f"{self.xid} is {'committed' if self.committed else 'rolled back'}."


@declared(
    permission=DECIDE,
    recorded_as=Act.DECIDE_BRANCH,
    authorities={"xid": "set"},
    needs_reason=True,
    is_confirmed=True,
)
def commit_link_branch(actor: Principal, request: CommitLinkBranch) -> LinkBranchEnded:
    """Commit a transaction of a bridge's link that is in doubt.

    The link ends it itself as soon as it runs and both providers answer: this is for a
    provider that is gone for good.
    """
    deciding.decide(request.xid, commit=True, reason=request.reason.strip())
    return LinkBranchEnded(request.xid, committed=True)


@declared(
    permission=DECIDE,
    recorded_as=Act.DECIDE_BRANCH,
    authorities={"xid": "set"},
    needs_reason=True,
    is_confirmed=True,
)
def roll_back_link_branch(
    actor: Principal, request: RollBackLinkBranch
) -> LinkBranchEnded:
    """Roll back a transaction of a bridge's link that is in doubt.

    Like the commit, it is only for a provider that is gone for good.
    """
    deciding.decide(request.xid, commit=False, reason=request.reason.strip())
    return LinkBranchEnded(request.xid, committed=False)


@dataclass(frozen=True, slots=True)
class ResubmitThroughLink:
    """The link, and which of its dead messages; without anything, all."""

    bridge: BridgeName
    link: LinkName
    message: Annotated[
        int | None, Holds(gettext_noop("Only this message."), least=1, most=2**63 - 1)
    ] = None
    fingerprint: Annotated[
        str | None,
        Holds(gettext_noop("Only dead letters with this fingerprint."), most=12),
    ] = None
    reason: Reason = ""


@ordered(also=(LOOK, LINKS), recorded_as=Act.PLAN)
def resubmit_through_link(
    actor: Principal, request: ResubmitThroughLink
) -> OperationState:
    """Plan to resubmit dead messages of a link through it.

    Freezes the set; changes nothing before the plan is started. Started, it moves the
    messages to the link's own queue, from which the link sends them. Needs the
    authority `get` where they are, and `put` on that queue.
    """
    held = held_by(actor)
    link = find_link(held, request.bridge, request.link)
    names = queues_for(held)
    letters = resubmit.selection_of(link, names, request.fingerprint or None)
    scope = f"dead messages of the link {link}"
    if letters is None:
        raise NothingChosen(scope)
    if request.message:
        one = describe_message(request.message, names)
        scope = f"{one}, a dead message of the link {link}"
    elif request.fingerprint:
        scope = describe_letters(letters, names).replace("all dead letters", scope, 1)
    chosen = Chosen(
        letters=letters,
        ids=(request.message,) if request.message else (),
        selector=resubmit.own_only(link),
    )
    order = Order(Operation.Kind.MOVE, resubmit.ensure(link).name)
    reason = request.reason.strip()
    plan = rights.plan(actor, order, chosen, scope=scope, reason=reason)
    return read_state(actor, plan.pk)
