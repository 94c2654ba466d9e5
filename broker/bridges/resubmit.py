"""The way back into a link: a queue of its own, which it reads before its source.

A dead message that was mended is moved there, so that it goes through all steps again,
wherever it came from.
"""

from __future__ import annotations

from django.db import transaction

from broker.bridges.providers.registry import HERE
from broker.models import Address, BridgeDestination, Link, Queue

WHAT_FOR = (
    "What goes through the link {} again: it takes from here before it takes from its"
    " source."
)


@transaction.atomic
def ensure(link: Link) -> Queue:
    """That queue, and its address; made where they are missing."""
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
    """What dead letters of a link name as the queue that they came from: its source, if
    that is a queue here, or else the link."""
    is_here = link.source_factory.provider == HERE
    if is_here and link.source.kind == BridgeDestination.Kind.QUEUE:
        return link.source.name
    return str(link)
