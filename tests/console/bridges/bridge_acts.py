"""What pages change of links of bridges, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from broker.models import Act, Branch, Link
from tests.broker.promising import promise
from tests.console.bridging import die_of_link, make_branch, make_link, stand
from tests.console.own_acts import Case, at
from tests.make import make_queue

WHY = {"reason": "it hangs"}


def linked(state: str) -> Link:
    make_queue()
    link = make_link()
    stand(link, state)
    return link


def start_link(_: Client) -> Case:
    linked("STOPPED")
    return at("console:start_link", "shop", "out"), WHY, Act.START_LINK


def pause_link(_: Client) -> Case:
    linked("STARTED")
    return at("console:pause_link", "shop", "out"), WHY, Act.PAUSE_LINK


def resume_link(_: Client) -> Case:
    linked("PAUSED")
    return at("console:resume_link", "shop", "out"), WHY, Act.RESUME_LINK


def stop_link(_: Client) -> Case:
    linked("STARTED")
    return at("console:stop_link", "shop", "out"), WHY, Act.STOP_LINK


def resubmit_through_link(_: Client) -> Case:
    die_of_link(linked("STARTED"))
    return at("console:resubmit_through_link", "shop", "out"), {}, Act.PLAN


def branch() -> str:
    """A transaction of a link that is prepared here."""
    link = linked("STOPPED")
    make_queue("answers")
    promise("bk-7-1", entries=0)
    put = {
        "number": 1,
        "target": [["ID:1", "TRANSFERRED", 5]],
        "dead": [],
        "counts": {},
    }
    make_branch(link, "bk-7-1", kind=Branch.Kind.PREPARED, detail=put)
    return "bk-7-1"


def commit_branch(_: Client) -> Case:
    return at("console:commit_branch", "shop", "out", branch()), WHY, Act.DECIDE_BRANCH


def roll_back_branch(_: Client) -> Case:
    where = at("console:roll_back_branch", "shop", "out", branch())
    return where, WHY, Act.DECIDE_BRANCH


def new_link(_: Client) -> Case:
    """Another link between the ends of one."""
    link = linked("STOPPED")
    ends = {
        f"{end}-{name}": value
        for end, broker, place in (
            ("source", "this-broker", "orders"),
            ("target", f"connection:{link.target_factory_id}", "orders.copy"),
        )
        for name, value in (("at", broker), ("kind", "queue"), ("name", place))
    }
    own = {"link-name": "more", "link-bridge": "shop", "link-safety": "plain"}
    return at("console:new_link"), ends | own, Act.CREATE


BRIDGES: dict[str, Callable[[Client], Case]] = {
    "console:new_link": new_link,
    "console:start_link": start_link,
    "console:pause_link": pause_link,
    "console:resume_link": resume_link,
    "console:stop_link": stop_link,
    "console:resubmit_through_link": resubmit_through_link,
    "console:commit_branch": commit_branch,
    "console:roll_back_branch": roll_back_branch,
}
