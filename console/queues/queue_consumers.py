"""The consumers of one queue as one list: handlers, clients over AMQP, links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from broker.bridges.configured import ends_here
from broker.formats.quantities import write_count
from broker.models import ClientEndpoint, ConnectionConsumer, Owner, Queue
from broker.monitoring import links_as_consumers
from broker.security.authorities import GrantedAuthorities
from dashboards.live import link_status

MOST = 50  # consumers shown
VIEW_LINKS = "broker.view_link"


@dataclass(frozen=True, slots=True)
class QueueConsumer:
    """One that takes messages from the queue."""

    kind: str
    name: str  # of the handler, the client's container, or the link
    url: str  # the page about it
    works: str  # how much it may take, and how much it has
    where: str  # its process, or the client's host
    since: datetime | None


@dataclass(frozen=True, slots=True)
class QueueConsumers:
    """All consumers that the user may see, and the first of them."""

    shown: Sequence[QueueConsumer]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.shown)


def of_queue(
    queue: Queue, user: User | AnonymousUser, held: GrantedAuthorities
) -> QueueConsumers:
    """Whoever takes from a queue that the user may inquire.

    Browsers take nothing, so they are not counted. Programs that get without a
    connection of their own, over HTTP or in a process of the application, are unknown.
    """
    handlers = ConnectionConsumer.objects.filter(queue=queue).order_by("handler", "pk")
    clients = ClientEndpoint.objects.filter(
        queue=queue, kind=ClientEndpoint.Kind.GETS
    ).order_by("pk")
    links = list(of_links(queue, held)) if user.has_perm(VIEW_LINKS) else []
    found = [*of_handlers(handlers[: MOST + 1]), *links]
    found += of_clients(clients.select_related("connection")[: MOST + 1])
    if len(found) <= MOST:
        return QueueConsumers(found, len(found))
    count = handlers.count() + len(links) + clients.count()
    return QueueConsumers(found[:MOST], count)


def of_handlers(rows: QuerySet[ConnectionConsumer]) -> Iterator[QueueConsumer]:
    owners = Owner.objects.in_bulk({one.owner_id for one in rows})
    for one in rows:
        owner = owners.get(one.owner_id)
        yield QueueConsumer(
            gettext("handler"),
            one.handler,
            f"{reverse('console:consumers')}#consumer-{one.pk}",
            ", ".join([at_once(one.server_sessions), *busy(one.busy_percent)]),
            process_of(owner),
            one.started_at,
        )


def of_clients(rows: QuerySet[ClientEndpoint]) -> Iterator[QueueConsumer]:
    for one in rows:
        yield QueueConsumer(
            gettext("AMQP, exclusive") if one.is_exclusive else "AMQP",
            one.connection.container_id,
            reverse("console:connection", args=[one.connection_id]),
            ", ".join([credit_of(one), *busy(one.busy_percent)]),
            one.connection.host,
            one.opened_at,
        )


def process_of(owner: Owner | None) -> str:
    """The process of a consumer, as pages name it."""
    if owner is None:
        return gettext("a process that has ended")
    return gettext("%(kind)s %(pid)s on %(host)s") % {
        "kind": owner.kind,
        "pid": owner.pid,
        "host": owner.host,
    }


def at_once(sessions: int) -> str:
    return gettext("%(sessions)s at once") % {"sessions": write_count(sessions)}


def credit_of(endpoint: ClientEndpoint) -> str:
    return gettext("credit %(credit)s, %(unsettled)s unsettled") % {
        "credit": write_count(endpoint.credit),
        "unsettled": write_count(endpoint.unsettled),
    }


def busy(percent: int | None) -> Iterator[str]:
    """How busy it was, if that is known."""
    if percent is not None:
        yield gettext("%(percent)s %% busy") % {"percent": percent}


def of_links(queue: Queue, held: GrantedAuthorities) -> Iterator[QueueConsumer]:
    """Links of bridges that are started."""
    for status in links_as_consumers.taking_from(queue.name):
        link = status.link
        stands_still, _ = links_as_consumers.stand_of(status)
        if not stands_still and link_status.sees(held, ends_here(link)):
            url = reverse("console:link", args=[link.bridge.name, link.name])
            yield QueueConsumer(
                gettext("link"),
                str(link),
                url,
                status.get_state_display(),
                gettext("a bridge"),
                None,
            )
