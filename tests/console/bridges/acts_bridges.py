"""Orders for links of bridges, for all doors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from broker.acts.bridges import (
    CommitLinkBranch,
    PauseLink,
    ResubmitThroughLink,
    ResumeLink,
    RollBackLinkBranch,
    StartLink,
    StopLink,
)
from broker.models import Branch, LinkStatus, Operation
from tests.console.act_doors import Example
from tests.console.bridges.bridge_acts import branch, linked
from tests.console.bridging import die_of_link

LINK = {"bridge": "shop", "link": "out"}
BRANCH = LINK | {"xid": "bk-7-1"}


def on_a_link(request: type, page: str, state: str) -> Example:
    def make() -> Mapping[str, str]:
        linked(state)
        return LINK

    return example(request, page, make, LINK)


def on_a_branch(request: type, page: str) -> Example:
    def make() -> Mapping[str, str]:
        branch()
        return BRANCH

    return example(request, page, make, BRANCH)


def make_dead() -> Mapping[str, str]:
    die_of_link(linked("STARTED"))
    return LINK


def example(
    request: type,
    page: str,
    make: Callable[[], Mapping[str, str]],
    fields: Mapping[str, str],
) -> Example:
    return Example(
        request,
        page,
        about=tuple(fields),
        make=make,
        absent=fields,
        missing="There is no bridge 'shop'",
        changes=(LinkStatus, Branch, Operation),
    )


EXAMPLES = {
    "start_link": on_a_link(StartLink, "console:start_link", "STOPPED"),
    "pause_link": on_a_link(PauseLink, "console:pause_link", "STARTED"),
    "resume_link": on_a_link(ResumeLink, "console:resume_link", "PAUSED"),
    "stop_link": on_a_link(StopLink, "console:stop_link", "STARTED"),
    "commit_link_branch": on_a_branch(CommitLinkBranch, "console:commit_branch"),
    "roll_back_link_branch": on_a_branch(
        RollBackLinkBranch, "console:roll_back_branch"
    ),
    "resubmit_through_link": replace(
        example(ResubmitThroughLink, "console:resubmit_through_link", make_dead, LINK),
        lacking="get",
    ),
}
