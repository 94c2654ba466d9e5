"""Dead messages that are to be carried again: a queue for each link.

An operator moves dead messages of a link there, perhaps mended. The link reads it
before its source, and each goes through all steps anew.
"""

from __future__ import annotations

from django.db import transaction

from broker.models import Address, Link, Queue


def resubmit_queue(link: Link) -> str:
    """The name of the queue."""
    return f"bridge.{link.bridge.name}.{link.name}.resubmit"


@transaction.atomic
def ensure(link: Link) -> Queue:
    """The queue, which is made where it is not there yet."""
    name = resubmit_queue(link)
    address, _ = Address.objects.get_or_create(name=name)
    queue, _ = Queue.objects.get_or_create(
        name=name, defaults={"address": address, "kind": Queue.Kind.INTERNAL}
    )
    return queue
