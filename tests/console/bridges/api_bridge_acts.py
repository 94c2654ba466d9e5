"""What changes bridges through the API, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client

from broker.models import Act, Link, LinkStatus
from tests.broker.bridges.making import destination as make_destination
from tests.broker.bridges.making import factory as make_factory
from tests.broker.bridges.making import kept, stored_link, stored_queue
from tests.console.acts import WHY
from tests.console.own_acts import Case

AT = "/api/v1/bridges/bridge"
LINK = {
    "source_factory": "from",
    "source": "orders",
    "target_factory": "to",
    "target": "bills",
}


def make_bridge(state: str = "STARTED") -> Link:
    """A bridge with a link, a dead message queue and what they need."""
    link = stored_link()
    LinkStatus.objects.create(link=link, state=state, sent=7, received=8, dead=1)
    stored_queue()
    return link


def order(what: str, state: str, act: Act) -> Callable[[Client], Case]:
    def case(_: Client) -> Case:
        make_bridge(state)
        return f"{AT}/links/out/{what}", WHY, act

    return case


def of_part(deed: Act, url: str, said: dict[str, Any]) -> Callable[[Client], Case]:
    """Change, or delete, what is there, and is not used."""

    def case(_: Client) -> Case:
        link = make_bridge("STOPPED")
        kept(make_factory(link.bridge, "spare"))
        kept(make_destination(link.bridge, "spare"))
        gone = deed == Act.DELETE
        return f"{AT}{url}", {} if gone else {"description": "new", **said}, deed

    return case


PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bridge": ("", {}),
    "connection_factory": ("/connection-factories/spare", {"provider": "this-broker"}),
    "destination": ("/destinations/spare", {"name": "orders"}),
    "dead_message_queue": (
        "/dead-message-queues/dmq",
        {"factory": "here", "destination": "dead"},
    ),
    "link": ("/links/out", LINK),
}
DEEDS = {"define": Act.CHANGE, "change": Act.CHANGE, "delete": Act.DELETE}


def import_bridge(_: Client) -> Case:
    said = {"document": '<jmsbridge name="bridge"/>', "apply": True}
    return "/api/v1/bridge-document", said, Act.CREATE


OPERATIONS: dict[str, Callable[[Client], Case]] = {  # by id
    "start_link": order("start", "PAUSED", Act.START_LINK),
    "pause_link": order("pause", "STARTED", Act.PAUSE_LINK),
    "resume_link": order("resume", "PAUSED", Act.RESUME_LINK),
    "stop_link": order("stop", "STARTED", Act.STOP_LINK),
    **{
        f"{verb}_{part}": of_part(deed, url, said)
        for part, (url, said) in PARTS.items()
        for verb, deed in DEEDS.items()
    },
    "import_bridge": import_bridge,
}
