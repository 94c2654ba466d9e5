"""This broker as the provider of a link, within the link's database transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import transaction

from broker.bridges.messages import changed, message_of
from broker.bridges.providers.interface import (
    Capability,
    Destination,
    Factory,
    Lag,
    Received,
)
from broker.bridges.providers.no_transactions import NoTransactions
from broker.client import Consumer, Message, SessionMode
from broker.client import connect as open_connection
from broker.config.names import address_of
from broker.errors import BrokerError, LockLost, NoSuchAddress, NoSuchQueue
from broker.errors.bridges import Hold, ProviderLost, SendRefused, WrongFactory
from broker.formats.mq.descriptor import made_id
from broker.models import Queue
from broker.monitoring import wait_times
from broker.queueing import delayed, journal, notifications
from broker.queueing.put import CHUNK, NewMessage, put_as_given, put_to
from broker.queueing.store import Receipt
from broker.settlement import settle
from broker.settlement.outcomes import BackOut, Release
from broker.transactions.scope import UnitOfWork

UNTAKEN = "No queue of the address {} takes the message. Give it one under Settings."


class LocalSubscription:
    """Gets messages from a queue of this broker, under a unit of work.

    To acknowledge, the link takes the unit of work (``take_work``) and ends it in the
    database transaction of the transfer.
    """

    def __init__(
        self,
        destination: Destination,
        *,
        actor: str,
        selector: str = "",
        durable_name: str = "",
        client_id: str = "",
        prefetch: int = 1,
    ) -> None:
        self.connection = open_connection(client_id=client_id or actor)
        self.session = self.connection.session(
            SessionMode.TRANSACTED, prefetch=prefetch, count_unacked_on_close=False
        )
        name = destination.name
        if not destination.is_topic:
            self.consumer: Consumer = self.session.consumer(name, selector)
        elif durable_name:
            self.consumer = self.session.subscribe_durable(name, durable_name, selector)
        else:
            self.consumer = self.session.subscribe(name, selector)
        self.destination = destination
        # Beginning of the JMSMessageID of messages that have none; their message number
        # is added to it.
        self.made = f"ID:{made_id(0, settings.BROKER_NAME)[:-8].hex()}"
        self.read: Callable[[NewMessage], NewMessage] = lambda message: message

    @property
    def queue(self) -> Queue:
        return self.consumer.queue

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """See ``interface.Subscription``; but after a wait it gets nothing: the caller
        must first check that it still owns the link."""
        self.session.prefetch = max(limit, 1)
        seen = notifications.version(self.queue.pk)
        found = [self.received(one) for one in self.consumer.receive_many(limit)]
        if not found and limit and wait_s:
            due_s = delayed.until_due_s(self.queue.name)
            notifications.wait(self.queue.pk, seen, longest_s=min(wait_s, due_s))
        return found

    def received(self, message: Message) -> Received:
        one = message.delivery
        return Received(
            self.read(message_of(one)),
            one,
            Destination(one.address, self.destination.is_topic),
            one.client_message_id or f"{self.made}{one.message_id:016x}",
            one.put_at,
            redelivered=one.backout_count > 0,
            delivery_count=one.backout_count + 1,
            local_id=one.message_id,
        )

    def take_work(self) -> UnitOfWork:
        """Take the unit of work of all received messages; the next get begins another
        unit of work."""
        self.session.release_unread()
        return self.session.holding.take_leave()

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``; it acknowledges all received messages that
        were not released."""
        work = self.take_work()
        with transaction.atomic():
            work.carry_out()
        work.ended = True

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """See ``interface.Subscription``."""
        self.session.holding.release([one.handle for one in received])

    def lag(self) -> Lag:
        """See ``interface.Subscription``."""
        return lag_of(self.queue)

    def close(self) -> None:
        """See ``interface.Subscription``. A subscription that is not durable ends."""
        self.consumer.close()
        self.connection.close()


def lag_of(queue: Queue) -> Lag:
    """The number of ready messages of a queue, and when the oldest was put."""
    return lags_of([queue.pk])[queue.pk]


def lags_of(queue_ids: Sequence[int]) -> dict[int, Lag]:
    """As ``lag_of``, for several queues by id. Two queries."""
    depths = journal.depths(queue_ids)
    oldest = wait_times.waiting(queue_ids)
    return {
        queue_id: Lag(
            depths[queue_id].ready if queue_id in depths else 0,
            oldest[queue_id].oldest_at if queue_id in oldest else None,
        )
        for queue_id in queue_ids
    }


def give_back(work: UnitOfWork) -> None:
    """Release all entries of a unit of work; no backout is counted."""
    work.ended = True
    if work.id is not None:
        settle.end_if_held(work.id, Release(), actor=work.actor, now=work.now)


def back_out(work: UnitOfWork, error: str) -> None:
    """Back out a unit of work; the backouts count for the source queue's backout
    threshold. The messages return to their places at once, whatever redelivery delay
    the queue has: later ones would overtake them, and the link itself waits."""
    try:
        work.back_out(BackOut(error, at_once=True), by_system=True)
    except LockLost:
        return  # the unit of work was backed out before


def send(messages: Sequence[NewMessage]) -> list[Receipt]:
    """Put messages in the open transaction, all of them.

    Raises:
        SendRefused: an address or queue refuses one of them; it is unknown which one.
            The transaction must be rolled back.
    """
    alike = len({one.address for one in messages}) == 1 and len(messages) <= CHUNK
    try:
        if alike:  # one statement for all, without a savepoint around it
            receipts = put_to(messages[0].address, messages)
        else:
            receipts = put_as_given(messages)
    except BrokerError as error:
        raise SendRefused("this broker", str(error), Hold.of(error)) from error
    for message, receipt in zip(messages, receipts, strict=True):
        if not receipt.queue_ids:
            raise SendRefused("this broker", UNTAKEN.format(repr(message.address)))
    return receipts


def address_for(destination: Destination, factory: str) -> str:
    """The address of a destination at this broker.

    Raises:
        WrongFactory: there is no such address.
    """
    try:
        return address_of(destination.name)
    except NoSuchAddress as error:
        raise WrongFactory(factory, str(error)) from error


def address_of_name(name: str) -> str:
    """As ``address_for``; if there is no such address, the name itself: the put then
    raises the error."""
    try:
        return address_of(name)
    except NoSuchAddress:
        return name


class LocalSession(NoTransactions):
    """A session with this broker, as with any other provider; used for dead message
    queues. Each send is a transaction of its own."""

    capabilities = Capability.LOCAL
    no_transactions = "Transactions of this broker are those of the link itself."

    def __init__(self, factory: Factory) -> None:
        self.factory = factory
        self.sent_ids: Sequence[str] = ()

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> LocalSubscription:
        """See ``interface.Session``."""
        try:
            return LocalSubscription(
                destination,
                actor=self.factory.name,
                selector=selector,
                durable_name=durable_name,
                client_id=self.factory.client_id,
                prefetch=prefetch,
            )
        except (NoSuchAddress, NoSuchQueue) as error:
            raise WrongFactory(self.factory.name, str(error)) from error

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """See ``interface.Session``."""
        return [self.send_one(one, destination) for one in messages]

    def send_one(
        self, message: NewMessage, destination: Destination
    ) -> SendRefused | None:
        address = address_for(destination, self.factory.name)
        try:
            with transaction.atomic():
                send([changed(message, address=address)])
        except SendRefused as refusal:
            return refusal
        except DatabaseError as error:
            raise ProviderLost(self.factory.name, str(error)) from error
        return None

    def close(self) -> None:
        """Do nothing: the session holds no resources."""


def connect(factory: Factory) -> LocalSession:
    """See ``interface.Connect``."""
    return LocalSession(factory)
