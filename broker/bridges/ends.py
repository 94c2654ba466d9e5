"""The open ends of a running link: sessions, sources, and ways of transfer.

Opening first settles transactions that an earlier run left in doubt.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from django.db import Error as DatabaseError
from django.db.models.functions import Now

from broker.bridges import dead_messages, resubmit
from broker.bridges.carrier import Carrier
from broker.bridges.config import delays
from broker.bridges.config.validation import problems_of
from broker.bridges.configured import destination_of, factory_of, is_here, target_of
from broker.bridges.decisions import Decisions
from broker.bridges.providers.interface import (
    Capability,
    Destination,
    ProviderSession,
    ProviderSubscription,
    TwoPhaseSession,
)
from broker.bridges.providers.local import LocalSubscription, address_for
from broker.bridges.providers.registry import connect
from broker.bridges.transfer import Way
from broker.bridges.ways import branches, inbound, outbound
from broker.bridges.ways.here import Here
from broker.bridges.ways.marker import Marker
from broker.errors import BrokerError
from broker.errors.bridges import WrongLink
from broker.models import ConnectionFactory, Link, LinkStatus, Queue, Ready

logger = logging.getLogger(__name__)

NO_TRANSACTIONS = (
    "it is transacted, but {} has no transactions that a link can use. Make the link"
    " not transacted, or use another provider."
)


class Road(NamedTuple):
    """A source, and the way of transfer to the target."""

    source: ProviderSubscription
    way: Way


@dataclass
class Ends:
    """Both ends of a running link."""

    carrier: Carrier
    # The source of resubmitted messages, if there is one, and last the link's own
    # source.
    roads: list[Road] = field(default_factory=list)
    remote: ProviderSession | None = None
    marker: Marker | None = None

    @property
    def main(self) -> ProviderSubscription:
        """The source of the link itself."""
        return self.roads[-1].source

    def close(self) -> None:
        """Finish the last batch, and close all sources and sessions. May be called
        twice."""
        try:
            self.carrier.finish()
        finally:
            for road in self.roads:
                road.source.close()
            self.roads.clear()
            if self.remote is not None:
                self.remote.close()
                self.remote = None
            self.carrier.close()


def opened(carrier: Carrier) -> Ends:
    """Connect, settle transactions in doubt, and begin to consume.

    Raises:
        ProviderLost: a provider does not answer.
        AccessRefused, WrongFactory, WrongLink: the configuration is wrong; a retry is
            useless.
    """
    ends = Ends(carrier)
    try:
        open_all(ends)
    except BaseException:
        ends.close()
        raise
    return ends


def open_all(ends: Ends) -> None:
    link = ends.carrier.link
    if problems := problems_of(link):
        raise WrongLink(str(link), " ".join(problems))
    dead_messages.ensure()
    source_is_here, target_is_here = map(
        is_here, (link.source_factory, link.target_factory)
    )
    if not (source_is_here or target_is_here):
        why = "neither end is this broker. Create two links, with a queue here between."
        raise WrongLink(str(link), why)
    if not source_is_here:
        ends.remote = connected(link, link.source_factory, link.source_client_id)
    elif not target_is_here:
        ends.remote = connected(link, link.target_factory, link.target_client_id)
    if target_is_here and (target := target_of(link)):
        address_for(target, link.target_factory.name)
    if ends.remote is not None:
        settle(ends, ends.remote)
    again = local_source(ends, Destination(resubmit.ensure(link).name))
    again.read = dead_messages.as_it_was
    ends.roads.append(Road(again, way_from_here(ends, again)))
    if source_is_here:
        source = own_source(ends)
        ends.roads.append(Road(source, way_from_here(ends, source)))
    else:
        assert ends.remote is not None, "the source is elsewhere"
        remote = ends.remote.subscribe(
            destination_of(link.source),
            selector=link.selector,
            durable_name=link.durable_name,
            prefetch=2 * link.batch,
        )
        ends.roads.append(Road(remote, way_to_here(ends, remote, ends.remote)))


def connected(
    link: Link, factory: ConnectionFactory, client_id: str
) -> ProviderSession:
    """A session with the remote provider. For another Backout, the client id is the
    link's key, by which it finds messages that earlier runs held."""
    if not client_id and factory.provider == "backout":
        client_id = link.key.hex
    return connect(factory_of(factory, client_id=client_id))


def own_source(ends: Ends) -> LocalSubscription:
    """The source of a link at this broker; the log names delayed messages on it."""
    link = ends.carrier.link
    source = local_source(
        ends,
        destination_of(link.source),
        selector=link.selector,
        durable_name=link.durable_name,
        client_id=link.source_client_id,
    )
    for one in delays.of_sources(link, [source.queue]):
        logger.warning("%s: %s", link, one)
    return source


def local_source(
    ends: Ends, destination: Destination, **options: Any
) -> LocalSubscription:
    """The source, a queue or topic of this broker.

    Raises:
        WrongLink: this broker has no such queue, or the selector cannot be read.
    """
    try:
        return LocalSubscription(destination, actor=ends.carrier.actor, **options)
    except BrokerError as error:
        raise WrongLink(ends.carrier.name, str(error)) from error


def settle(ends: Ends, session: ProviderSession) -> None:
    """End transactions that an earlier run left in doubt; after that, this run holds
    the marker.

    Raises:
        WrongLink: the link is transacted, and the provider has no transactions.
    """
    carrier, link = ends.carrier, ends.carrier.link
    if not link.transacted:
        return
    if Capability.TWO_PHASE in session.capabilities:
        branches.recover(carrier, session, None)
        preparing = cast(TwoPhaseSession, session)
        carrier.decisions = Decisions(link, preparing, carrier.notice)
        return
    if Capability.TRANSACTIONS not in session.capabilities:
        other = link.target_factory if is_here(link.source_factory) else None
        name = (other or link.source_factory).name
        raise WrongLink(str(link), NO_TRANSACTIONS.format(name))
    (last,) = LinkStatus.objects.filter(link=link).values_list(
        "batch_number", flat=True
    )
    factory = (
        link.target_factory if is_here(link.source_factory) else link.source_factory
    )
    ends.marker = Marker(session, link.key.hex, factory.name)
    number = ends.marker.read(last)
    branches.recover(carrier, session, number)
    carrier.batch_number = max(number, last)


def way_from_here(ends: Ends, source: LocalSubscription) -> Way:
    """The way of transfer from a source at this broker. Every link has one, for
    resubmitted messages."""
    carrier, link = ends.carrier, ends.carrier.link
    if is_here(link.target_factory):
        return Here(carrier, source)
    assert ends.remote is not None, "the target is elsewhere"
    if not link.transacted:
        return outbound.Acknowledged(carrier, source, ends.remote)
    if ends.marker is None:
        return outbound.Prepared(carrier, source, ends.remote)
    return outbound.Marked(carrier, source, ends.remote, ends.marker)


def way_to_here(
    ends: Ends, source: ProviderSubscription, session: ProviderSession
) -> Way:
    carrier, link = ends.carrier, ends.carrier.link
    if not link.transacted:
        return inbound.Acknowledged(carrier, source, session)
    if ends.marker is None:
        return inbound.Prepared(carrier, source, session)
    return inbound.Marked(carrier, source, session, ends.marker)


def look(ends: Ends) -> None:
    """Store how many messages wait at the source, if its provider reports it."""
    lag = ends.main.lag()
    if lag is None:
        return
    carrier = ends.carrier
    LinkStatus.objects.filter(link=carrier.link, epoch=carrier.epoch).update(
        waiting=lag.messages, oldest_at=lag.oldest_at, looked_at=Now()
    )


def close_quietly(ends: Ends) -> None:
    """Close the ends of a link; an error is only logged."""
    try:
        ends.close()
    except (BrokerError, DatabaseError) as error:
        logger.warning("%s: closing: %s", ends.carrier.name, error)


def has_messages(link: Link) -> bool:
    """Whether a message waits at a source of the link that is a queue here."""
    sources = [link.source.name, link.resubmit_queue]
    queues = Queue.objects.filter(name__in=sources).values("pk")
    return Ready.objects.filter(queue_id__in=queues).exists()
