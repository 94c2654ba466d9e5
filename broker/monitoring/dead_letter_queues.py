"""The queues that take dead letters, and the number of messages on them."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q

from broker.config import address_settings
from broker.models import AddressSetting, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.queueing import journal
from broker.security import authorities


def count(held: authorities.GrantedAuthorities = authorities.EVERYTHING) -> int:
    """The number of dead letters on all queues that the user may inquire.

    Args:
        held: the user's authorities.
    """
    queues = Queue.objects.filter(takes_dead_letters()).values_list("pk", "name")
    seen = [pk for pk, name in queues if held.on("inquire", name)]
    return sum(depth.total for depth in journal.depths(seen).values())


def takes_dead_letters() -> Q:
    """Whether poison messages are moved to the queue: a queue of a dead letter address,
    a backout queue, or the broker's dead letter queue.
    """
    # One subquery for all queues: a correlated one would read them all for each queue.
    named = Queue.objects.exclude(backout_queue="").values("backout_queue")
    return (
        Q(address__name__in=dead_letter_addresses())
        | Q(name__in=[settings.BROKER_DEAD_LETTER_QUEUE, BUILT_IN_QUEUE])
        | Q(name__in=named)
    )


def dead_letter_addresses() -> set[str]:
    """Every dead letter address in the settings. One query."""
    named = set(
        AddressSetting.objects.exclude(dead_letter_address__isnull=True).values_list(
            "dead_letter_address", flat=True
        )
    )
    return {*named, address_settings.DEFAULTS["dead_letter_address"]} - {"", None}
