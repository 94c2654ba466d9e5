"""The resubmit queue of a link, which it reads before its source.

A corrected dead message is moved there and goes through all steps of a transfer again,
wherever it came from.
"""

from __future__ import annotations

from django.db import transaction

from broker.bridges.providers.registry import HERE
from broker.models import Address, BridgeDestination, Link, Queue

WHAT_FOR = (
    "Messages that go through the link {} again: it takes them before those of its"
    " source."
)


@transaction.atomic
def ensure(link: Link) -> Queue:
    """The resubmit queue of a link; it and its address are created if they are
    missing."""
    name = link.resubmit_queue
    address, _ = Address.objects.get_or_create(name=name)
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
