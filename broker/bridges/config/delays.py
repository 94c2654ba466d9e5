"""Warnings on links whose source, a queue here, holds delayed messages.

A delayed message is in the queue only from when it is due, and others overtake it until
then. Producers may want that, so it is told where a link is made and when it starts,
and is nothing to fix afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext_noop

from broker.bridges.providers.registry import HERE
from broker.config.advice import Advice
from broker.config.names import local_queue
from broker.errors import NoSuchQueue
from broker.formats.sentences import say
from broker.models import BridgeDestination, Delayed, Link, Queue, Subscription


def of_links() -> Iterator[Advice]:
    """The warnings on all links that are enabled. One query, and two or three for each
    link with a source here."""
    links = Link.objects.filter(enabled=True, source_factory__provider=HERE)
    for link in links.select_related("bridge", "source"):
        yield from of_sources(link, queues_of(link))


def of_sources(link: Link, sources: Iterable[Queue]) -> Iterator[Advice]:
    """The warnings on the queues that a link reads."""
    for queue in sources:
        if Delayed.objects.filter(queue_id=queue.pk).exists():
            yield Advice(
                queue.name,
                "source-has-delays",
                say(
                    gettext_noop(
                        "The queue %(name)s, the source of the link %(link)s, holds"
                        " delayed messages: the link transfers them when they are"
                        " due, after messages that were put later."
                    ),
                    name=queue.name,
                    link=link,
                ),
                gettext_noop(
                    "Set no delivery delay where the order matters, and let no"
                    " other consumer back out messages of a queue with a"
                    " redelivery delay."
                ),
            )


def queues_of(link: Link) -> Iterator[Queue]:
    """The queue here that a link reads: its source, or that of its durable
    subscription, as far as it exists."""
    if link.source.kind == BridgeDestination.Kind.TOPIC:
        own = Subscription.objects.filter(
            durable=True, client_id=link.source_client_id, name=link.durable_name
        )
        if link.durable_name:
            yield from Queue.objects.filter(subscription__in=own)
        return
    try:
        yield local_queue(link.source.name)
    except NoSuchQueue:
        return  # the link reports the missing queue when it starts
