"""Sessions: ordered gets and puts, and acknowledgement of messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from broker.client.jms.browsers import Browser
from broker.client.jms.consumers import Consumer
from broker.client.jms.holding import Holding
from broker.client.jms.listeners import Listening
from broker.client.jms.messages import Message
from broker.client.jms.producers import Producer, SendOptions
from broker.config.names import local_queue
from broker.errors import LockLost
from broker.models import Subscription
from broker.queueing import notifications, processes, subscriptions
from broker.queueing.get import Delivery
from broker.security import authorities
from broker.sql import database_now
from broker.transactions.branches import stored_as
from broker.transactions.scope import describe

if TYPE_CHECKING:
    from broker.client.jms.connections import Connection

CLOSED = "The session was closed before the message was accepted."
RECOVERED = "The application asked to have its messages again."
ACCEPTED = (
    "An AUTO session accepts a message when it is received. Reject it in a listener, or"
    " receive it in a session of another mode."
)
ROLLED_BACK = "The application rolled its session back."


class SessionMode(Enum):
    """The call that accepts a message."""

    AUTO = "auto"  # accepted when the receive call, or the listener, returns
    CLIENT = "client"  # accepted by ``acknowledge``, with all messages delivered so far
    TRANSACTED = "transacted"  # accepted by ``commit``, with all messages put so far


class Session:
    """A single thread's gets and puts. Use it in one thread at a time.

    Once a consumer has a listener, the session belongs to the listeners' thread. Other
    threads may only call ``close``, which waits for a running listener.
    """

    def __init__(
        self,
        connection: Connection,
        mode: SessionMode,
        *,
        prefetch: int,
        count_unacked_on_close: bool,
    ) -> None:
        if prefetch < 1:
            raise ValueError("A consumer takes one message at a time, or more.")
        self.connection = connection
        self.mode = mode
        self.prefetch = prefetch
        self.count_unacked_on_close = count_unacked_on_close
        self.user = connection.user
        self.holding = Holding(
            actor=connection.actor, user=self.user, now=lambda: connection.now
        )
        self.consumers: list[Consumer] = []
        self.listening: Listening | None = None
        self.in_use = threading.RLock()
        self.closing = threading.Event()
        self.closed = False

    def producer(self, destination: str, **options: Unpack[SendOptions]) -> Producer:
        """Create a producer for an address, a queue, or an alias of either.

        Args:
            destination: its name.
            options: defaults for its messages.

        Raises:
            NoSuchAddress: there is no such destination.
            NotAuthorized: the user may not put there.
        """
        with self.using():
            return Producer(self, destination, options)

    def consumer(self, destination: str, selector: str = "") -> Consumer:
        """Create a consumer for a queue, by its name or an alias.

        Raises:
            NoSuchQueue: there is no such queue.
            NotAuthorized: the user may not get from it.
            InvalidSelector: the selector cannot be read.
        """
        with self.using():
            queue = local_queue(destination)
            authorities.require(self.user, "get", queue.name)
            return self.add(Consumer(self, queue, selector))

    def subscribe(self, topic: str, selector: str = "") -> Consumer:
        """Subscribe to an address, until the consumer is closed.

        Raises:
            NoSuchAddress: there is no such address.
            NoModelQueue: the address's model queue cannot serve.
            NotAuthorized: the user may not get from the address.
            InvalidSelector: the selector cannot be read.
        """
        with self.using():
            return self.subscribed(topic, selector)

    def subscribe_durable(self, topic: str, name: str, selector: str = "") -> Consumer:
        """Subscribe durably: messages are kept while the consumer is closed.

        Raises:
            SubscriptionInUse: it would have to be replaced, but has a consumer.
            NoSuchAddress: as in ``subscribe``, and so on.
        """
        with self.using():
            return self.subscribed(topic, selector, name)

    def subscribed(
        self, topic: str, selector: str, name: str | None = None
    ) -> Consumer:
        authorities.require(self.user, "get", topic)
        subscription: Subscription = subscriptions.subscribe(
            topic,
            durable=name is not None,
            owner=processes.current(),
            client_id=self.connection.client_id,
            name=name or "",
            selector=selector,
        )
        return self.add(Consumer(self, subscription.queue, subscription=subscription))

    def unsubscribe(self, name: str) -> None:
        """End a durable subscription, and delete its messages.

        Raises:
            NoSuchSubscription: the client has none of this name.
            SubscriptionInUse: it has a consumer, or a consumer holds messages of it.
        """
        with self.using():
            subscriptions.unsubscribe(
                self.connection.client_id, name, actor=self.connection.actor
            )

    def browser(self, queue: str, selector: str = "") -> Browser:
        """Create a browser for a queue.

        Raises:
            NoSuchQueue: there is no such queue.
            NotAuthorized: the user may not browse it.
            InvalidSelector: the selector cannot be read.
        """
        with self.using():
            return Browser(self, queue, selector)

    def commit(self) -> None:
        """Accept what was received and send what was put.

        Raises:
            LockLost: the system had backed it out before; reason 2003.
            BackedOut: the commit failed, and it was backed out; reason 2003.
            ValueError: the session is not transacted.
        """
        self.must_be_transacted(is_so=True)
        with self.using():
            self.release_unread()
            self.holding.commit()

    def rollback(self, error: str = "") -> None:
        """Back out received messages, and discard puts.

        A message received with a mark is not backed out: it becomes part of the next
        unit of work, which must be ended, too.

        Args:
            error: what went wrong, for the operator.

        Raises:
            ValueError: the session is not transacted.
        """
        self.must_be_transacted(is_so=True)
        self.back_out(error or ROLLED_BACK)

    def prepare(self, xid: str) -> None:
        """Prepare the unit of work; the next one begins. The prepared branch outlives
        the session, its process and its deadline. ``Connection.commit_branch`` or
        ``rollback_branch`` ends it, in any process.

        Args:
            xid: the coordinator's id of the branch; unique among those of its user.

        Raises:
            NotCoordinated: it has a marked message; it stays open. WrongXid, XidInUse:
                it stays open, too.
            LockLost: as ``commit``; BackedOut: it could not be committed; 2003.
            ValueError: the session is not transacted.
        """
        self.must_be_transacted(is_so=True)
        with self.using():
            self.release_unread()
            self.holding.prepare(stored_as(self.user, xid))

    def acknowledge(self) -> None:
        """Accept all delivered messages; ignored unless the mode is CLIENT.

        Raises:
            LockLost: the system had backed out some of them before; reason 2003.
        """
        with self.using():
            if self.mode is SessionMode.CLIENT:
                self.release_unread()
                self.holding.commit()

    def reject(self, delivery: Delivery, reason: str) -> None:
        """Reject one delivery; see ``Message.reject``."""
        with self.using():
            if self.is_auto and self.listening is None:
                raise ValueError(ACCEPTED)
            if not self.holding.has(delivery):
                raise LockLost(delivery.uow)
            if self.is_transacted:
                self.holding.reject_at_commit(delivery, reason)
            else:
                # In an AUTO session, only this delivery is held after the release.
                self.release_unread()
                self.holding.reject(delivery, reason)

    def recover(self) -> None:
        """Redeliver all messages that were delivered and not accepted, in order.

        Each counts as backed out. In a listener of an AUTO session this is the current
        message.

        Raises:
            ValueError: the session is transacted.
        """
        self.must_be_transacted(is_so=False)
        self.back_out(RECOVERED)

    def close(self, error: str = "") -> None:
        """Give all messages back, and end. May be called twice.

        Unread messages are not counted. Others count as backed out, without a delay;
        see ``Connection.session``.

        Args:
            error: the reason, for the operator, if there was an error.
        """
        if self.listening is not None and self.listening.is_here():
            raise ValueError("A listener cannot close its own session.")
        self.closing.set()
        notifications.here().note(consumer.queue.pk for consumer in self.consumers)
        if self.listening is not None:
            self.listening.thread.join()
        with self.in_use:
            if self.closed:
                return
            self.closed = True
            self.release_unread()
            self.holding.close(
                error or CLOSED,
                counted=self.count_unacked_on_close,
                at_once=not self.is_transacted,
            )
            for consumer in list(self.consumers):
                consumer.close()
        self.connection.sessions.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(describe(error) if error is not None else "")

    @contextmanager
    def using(self) -> Iterator[None]:
        """Lock the session for this thread; refuse threads that may not use it."""
        if self.listening is not None and not self.listening.is_here():
            raise ValueError("A session with a listener is its thread's alone.")
        with self.in_use:
            if self.closed:
                raise ValueError("The session is closed; begin another one.")
            yield

    @property
    def is_transacted(self) -> bool:
        return self.mode is SessionMode.TRANSACTED

    @property
    def is_auto(self) -> bool:
        return self.mode is SessionMode.AUTO

    def must_be_transacted(self, *, is_so: bool) -> None:
        if self.is_transacted is not is_so:
            raise ValueError(f"A session of mode {self.mode.value} has no such end.")

    def add(self, consumer: Consumer) -> Consumer:
        self.consumers.append(consumer)
        return consumer

    def release_unread(self) -> None:
        for consumer in self.consumers:
            consumer.release_unread()

    def back_out(self, error: str) -> None:
        with self.using():
            self.release_unread()
            self.holding.back_out(error)

    def returned(self, message: Message) -> bool:
        """Accept a message that was given to the application, in an AUTO session.

        Returns:
            Whether the message was still held; always True in other modes.
        """
        return not self.is_auto or self.holding.accept(message.delivery)

    def raised(self, error: str) -> None:
        """Back out the message of a listener that raised an exception, in an AUTO
        session."""
        if self.is_auto:
            self.back_out(error)

    def listen(self) -> None:
        if self.listening is None:
            self.listening = Listening(self)
            self.listening.thread.start()

    def moment(self) -> datetime:
        """The current time of the database's clock."""
        return self.connection.now or database_now()
