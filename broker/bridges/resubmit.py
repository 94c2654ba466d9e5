"""Dead messages of a link, the link that a dead message goes through, and its resubmit
queue, which it reads before its source.

A corrected dead message is moved there and goes through all steps of a transfer again,
wherever it came from.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet

from broker.bridges.configured import ENDS, ends_here
from broker.bridges.providers.registry import HERE
from broker.config.names import ensure_address
from broker.models import BridgeDestination, DeadLetter, Link, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE, LINK_PROPERTY
from broker.monitoring.dead_letters import Selection
from broker.security import authorities
from broker.security.authorities import Principal

LOOK = "broker.view_link"
WHAT_FOR = (
    "Messages that go through the link {} again: it takes them before those of its"
    " source."
)


@transaction.atomic
def ensure(link: Link) -> Queue:
    """The resubmit queue of a link; it and its address are created if they are
    missing."""
    name = link.resubmit_queue
    address = ensure_address(name)
    queue, _ = Queue.objects.get_or_create(
        name=name,
        defaults={
            "address": address,
            "kind": Queue.Kind.INTERNAL,
            "description": WHAT_FOR.format(link)[:1000],
        },
    )
    return queue


def origin_of(link: Link) -> str:
    """The origin queue in a link's dead letters: its source, if that is a queue here,
    or else the link's name."""
    is_here = link.source_factory.provider == HERE
    if is_here and link.source.kind == BridgeDestination.Kind.QUEUE:
        return link.source.name
    return str(link)


def selection_of(
    link: Link, names: Mapping[int, str], fingerprint: str | None = None
) -> Selection | None:
    """The dead messages of a link; None if the user can see none.

    Args:
        link: the link.
        names: queues that the user may inquire: names by id.
        fingerprint: of one group, to select only that.
    """
    on = next((pk for pk, name in names.items() if name == BUILT_IN_QUEUE), None)
    if on is None:
        return None
    cause = DeadLetter.Cause.LINK
    return Selection(fingerprint, origin_of(link), cause, on, tuple(names))


def own_only(link: Link) -> str:
    """A selector for the dead messages of this link only; empty if no other link shares
    its source queue.
    """
    quoted = str(link).replace("'", "''")
    return f"{LINK_PROPERTY} = '{quoted}'" if sharing(link) else ""


def sharing(link: Link) -> list[str]:
    """Other links with the same source queue here; their dead messages name the same
    origin. One query; none if the source is elsewhere.
    """
    if origin_of(link) == str(link):
        return []
    others = from_queue(link.source.name).exclude(pk=link.pk)
    return [str(one) for one in others.order_by("bridge__name", "name")]


def from_queue(name: str) -> QuerySet[Link]:
    """Links whose source is this queue of this broker."""
    return Link.objects.select_related("status", *ENDS).filter(
        source_factory__provider=HERE,
        source__kind=BridgeDestination.Kind.QUEUE,
        source__name=name,
    )


def link_for(actor: Principal, letter: DeadLetter | None, named: object) -> Link | None:
    """The link that could not transfer a dead message, if the actor may see it.

    Args:
        actor: the reader.
        letter: the stored dead letter, if it is one.
        named: the link named in the message, if any.
    """
    if letter is None or letter.cause != DeadLetter.Cause.LINK:
        return None
    if actor is not None and not actor.has_perm(LOOK):  # type: ignore[union-attr]
        return None
    link = link_of(letter, named if isinstance(named, str) else "")
    if link is None:
        return None
    held = authorities.held_by(actor)
    return link if all(held.on("inquire", one) for one in ends_here(link)) else None


def link_of(letter: DeadLetter, named: str) -> Link | None:
    """The link that could not transfer a dead message; None if it is deleted or
    ambiguous. Two queries at most.
    """
    every = Link.objects.select_related("status", *ENDS)
    bridge, _, link = (named or letter.origin_queue).partition("/")
    known = every.filter(bridge__name=bridge, name=link).first() if link else None
    if known is not None:
        return known
    meant = list(from_queue(letter.origin_queue)[:2])
    return meant[0] if len(meant) == 1 else None
