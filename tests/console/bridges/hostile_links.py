"""Links of bridges in which every text that anybody can fill is a payload."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db.models import Model
from django.utils import timezone

from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    TransferredMessage,
)
from tests.console.bridging import die_of_link, fail, make_branch, make_link, stand
from tests.console.hostile import EVIL, HEADS, WHOLE

Filled = Callable[[str, str], str]
FITTING = [one for one in (EVIL, *HEADS) if len(one) <= 80]  # in a name, with its tag


def make_links(filled: Filled, texts: Sequence[str]) -> None:
    """A link of each bridge, all of the same name; and one with a harmless name that
    has failed, since every page tells of it.

    Args:
        filled: a payload with the name of its field.
        texts: payloads where there is room.
    """
    for payload in FITTING:
        make_hostile(filled, payload)
    link = make_link("failed", bridge="shop")
    fail(link, filled(WHOLE, "link_error"))
    told = {f"JMS_SUN_JMSBRIDGE_{one}": filled(WHOLE, "link_told") for one in TOLD}
    for payload in texts:
        die_of_link(link, filled(payload, "link_error"), properties=told)


TOLD = ("SOURCE_JMSTYPE", "NOTE")


def make_hostile(filled: Filled, payload: str) -> None:
    bridge = Bridge.objects.create(
        name=filled(payload, "link_bridge"),
        description=filled(payload, "link_description"),
    )
    factory = ConnectionFactory(
        bridge=bridge, name=filled(payload, "link_factory"), provider=EVIL[:20]
    )
    fill(filled, payload, factory, "url", "username", "lookup_name", "description")
    place = BridgeDestination(bridge=bridge, ref_name=filled(payload, "ref_name"))
    place.name = filled(payload, "link_destination")
    fill(filled, payload, place, "lookup_name", "description")
    dead = DeadMessageQueue(
        bridge=bridge,
        name=filled(payload, "dead_name"),
        factory=factory,
        destination=place,
    )
    fill(filled, payload, dead, "client_id", "transformer", "description")
    link = Link(
        bridge=bridge,
        name=filled(EVIL, "link_name"),
        source_factory=factory,
        source=place,
        target_factory=factory,
        target=place,
        selector=filled(payload, "link_selector"),
        transformer=filled(payload, "link_transformer"),
    )
    of_link = [
        *("durable_name", "source_client_id", "target_client_id"),
        *("source_description", "target_description"),
    ]
    fill(filled, payload, link, "description", *of_link)
    stand(link, "STARTED", error=filled(payload, "link_error"), failures=2)
    link.status.error_at = timezone.now()
    link.status.save()
    make_branch(link, filled(payload, "xid"), detail={"of": filled(payload, "detail")})
    TransferredMessage.objects.create(
        link=link, message_id=filled(payload, "seen"), seen_at=timezone.now()
    )


def fill(filled: Filled, payload: str, one: Model, *fields: str) -> None:
    """Fill these, and its properties, if it has some; then keep it."""
    for field in fields:
        setattr(one, field, filled(payload, field))
    if hasattr(one, "properties"):
        one.properties = {filled(payload, "key"): filled(payload, "value")}
    one.save()
