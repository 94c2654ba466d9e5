"""Consumers: the next message of a queue that is neither expired nor poison."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Self, TypeVar

from django.conf import settings

from broker.client.jms.messages import Message
from broker.errors import BrokerError
from broker.errors.mq_codes import GetOptions
from broker.errors.units_of_work import WrongOptions
from broker.formats.selectors import parse
from broker.models import Queue, Subscription
from broker.queueing import delayed, notifications, subscriptions
from broker.queueing.get import Delivery, Next
from broker.queueing.selective_get import Search
from broker.settlement.poison import Attributes, Last, Removing, attributes_of

if TYPE_CHECKING:
    from broker.client.jms.sessions import Session

Body = TypeVar("Body")
Result = TypeVar("Result")
Listener = Callable[[Message], object]

UNIT = "a message can be marked in a transacted session only"


class Consumer:
    """Gets messages of one queue, for one session.

    It reads the queue's backout threshold and backout queue once, when it first gets a
    redelivered message.

    Source:
        IBM MQ, "Handling poison messages in IBM MQ classes for JMS".
    """

    def __init__(
        self,
        session: Session,
        queue: Queue,
        selector: str = "",
        *,
        subscription: Subscription | None = None,
    ) -> None:
        self.session = session
        self.queue = queue
        self.search = Search(queue.name, parse(selector)) if selector else None
        self.subscription = subscription
        # Prefetched messages that were not received yet.
        self.unread: deque[Delivery] = deque()
        self.attributes: Attributes | None = None
        self.listener: Listener | None = None
        self.closed = False

    def receive(
        self, timeout_s: float | None = None, *, mark: bool = False
    ) -> Message | None:
        """Wait for the next message.

        Args:
            timeout_s: the time limit; None: until the consumer is closed.
            mark: mark the message to skip backout; see ``Session.rollback``.

        Returns:
            The message, or None if none came.

        Raises:
            NotAuthorized: the message was redelivered, and the user may not inquire its
                queue. It stays there, uncounted; reason 2035.
            LockLost: the session's unit of work was backed out by the system; 2003.
            WrongOptions: a mark outside a transacted session; 2046.
            SecondMark: this unit of work has one; 2062.
            MarkNotPossible: skipping a rollback is switched off; 2274.
        """
        return self.next_read(lambda message: message, timeout_s, mark=mark)

    def receive_nowait(self, *, mark: bool = False) -> Message | None:
        """The next message if there is one, without a wait; as ``receive``."""
        return self.receive(0, mark=mark)

    def receive_many(self, limit: int) -> list[Message]:
        """Return available messages without waiting, like ``receive_nowait``.

        Args:
            limit: the largest number of messages; see also the session's prefetch.

        Raises:
            ValueError: the session is not transacted.
        """
        self.session.must_be_transacted(is_so=True)
        found: list[Message] = []
        with self.session.using():
            self.check_open()
            moment = cache(self.session.moment)
            while len(found) < limit and not self.session.closing.is_set():
                message = self.next(moment=moment)
                if message is None:
                    break
                found.append(message)
                found += self.plain(limit - len(found))
                if not self.unread:
                    break
        return found

    def plain(self, limit: int) -> Iterator[Message]:
        """The next unread messages, up to one that may be expired, poison or lost."""
        uow = self.session.holding.work.id
        for _ in range(min(limit, len(self.unread))):
            one = self.unread[0]
            if one.expires_at or one.backout_count or one.uow != uow:
                return
            yield Message(self.unread.popleft(), None, self.session)

    def receive_body(
        self, kind: type[Body], timeout_s: float | None = None
    ) -> Body | None:
        """The body of the next message; as ``receive``, and ``Message.body_as``.

        Raises:
            ValueError: the body is not of this kind. In an AUTO session it is as if
                nothing had been received.
        """
        return self.next_read(lambda message: message.body_as(kind), timeout_s)

    def receive_body_nowait(self, kind: type[Body]) -> Body | None:
        """As ``receive_body``, but without a wait."""
        return self.receive_body(kind, 0)

    def listen(self, listener: Listener) -> None:
        """Set a listener, which is called with each message in a thread of the session.

        In an AUTO session a message is accepted when the listener returns, and backed
        out if it raises. In other modes an exception is only logged.
        """
        with self.session.in_use:
            self.check_open()
            self.listener = listener
            self.session.listen()

    def close(self) -> None:
        """Give unread messages back, uncounted. May be called twice.

        Received messages stay with the session.
        """
        self.closed = True
        notifications.here().note([self.queue.pk])
        with self.session.in_use:
            self.release_unread()
            if self in self.session.consumers:
                self.session.consumers.remove(self)
                if self.subscription is not None and not self.subscription.durable:
                    subscriptions.remove(self.subscription)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def next_read(
        self,
        read: Callable[[Message], Result],
        timeout_s: float | None,
        *,
        mark: bool = False,
    ) -> Result | None:
        """Receive the next message, and return the result of a function for it."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self.session.using():
            self.check_open(mark=mark)
            while not self.closed and not self.session.closing.is_set():
                seen = notifications.version(self.queue.pk)
                message = self.next(mark=mark)
                if message is not None:
                    found = self.read(message, read)
                    if self.session.returned(message):
                        return found
                    continue  # the message was lost meanwhile
                left_s = (
                    notifications.POLL_S if until is None else until - time.monotonic()
                )
                if left_s <= 0:
                    break
                notifications.wait(
                    self.queue.pk, seen, longest_s=min(left_s, self.until_due_s())
                )
        return None

    def check_open(self, *, mark: bool = False) -> None:
        if self.closed:
            raise ValueError("The consumer is closed; make another one.")
        if mark and not self.session.is_transacted:
            options = GetOptions.NO_SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT
            raise WrongOptions(options, UNIT)

    def read(self, message: Message, read: Callable[[Message], Result]) -> Result:
        try:
            return read(message)
        except ValueError:
            if self.session.is_auto:
                self.give_back(message.delivery)
            raise

    def next(
        self, *, mark: bool = False, moment: Callable[[], datetime] | None = None
    ) -> Message | None:
        """The next message that is neither expired nor poison.

        Args:
            moment: returns the time; cached for several messages.
        """
        moment = moment or self.session.moment
        while (delivery := self.next_unread(mark=mark)) is not None:
            expires_at = delivery.expires_at
            received_at = moment() if expires_at else None
            if expires_at and received_at and expires_at <= received_at:
                self.session.holding.release([delivery])
            elif self.is_poison(delivery):
                self.take_away(delivery)
            else:
                return Message(delivery, received_at, self.session)
        return None

    def next_unread(self, *, mark: bool) -> Delivery | None:
        holding = self.session.holding
        if mark:
            self.release_unread()
        while self.unread:
            delivery = self.unread.popleft()
            if holding.has(delivery):
                return delivery
        self.unread.extend(
            holding.get(
                self.queue.name, self.session.prefetch, mark=mark, search=self.search
            )
        )
        return self.unread.popleft() if self.unread else None

    def accept_heard(self, message: Message) -> None:
        """Accept the message of a listener that has returned, in an AUTO session. If no
        other consumer of the session waits, get the next one at once."""
        session = self.session
        if not session.is_auto:
            return
        goes_on = not (self.closed or session.closing.is_set())
        if goes_on and session.consumers == [self] and self.search is None:
            limit = min(session.prefetch, settings.BROKER_MAX_UNCOMMITTED_MESSAGES)
            then = Next(self.queue.name, limit=limit)
            self.unread.extend(session.holding.accept_and_get(message.delivery, then))
        else:
            session.holding.accept(message.delivery)

    def is_poison(self, delivery: Delivery) -> bool:
        if not delivery.backout_count:
            return False
        if self.attributes is None:
            try:
                self.attributes = attributes_of(self.queue.name, user=self.session.user)
            except BrokerError:
                self.give_back(delivery)
                raise
        return self.attributes.is_poison(delivery.backout_count)

    def take_away(self, delivery: Delivery) -> None:
        """Move a poison message to the backout queue, as for this kind of consumer.

        Source:
            IBM MQ, "Handling poison messages in IBM MQ classes for JMS": a synchronous
            receiver's move is part of its unit of work, a listener's is its own.
        """
        assert self.attributes is not None, "they said that it is poison"
        removing = Removing(delivery, self.attributes.backout_queue)
        holding = self.session.holding
        if self.listener is not None:
            holding.remove_now(removing, Last.RETURN)
        elif self.session.is_transacted:
            holding.remove(removing)
        else:
            holding.remove_now(removing, Last.DISCARD)

    def give_back(self, delivery: Delivery) -> None:
        """Give a delivery back, uncounted, with the unread ones after it."""
        self.unread.appendleft(delivery)
        self.release_unread()

    def release_unread(self) -> None:
        unread = list(self.unread)
        self.unread.clear()
        self.session.holding.release(unread)

    def until_due_s(self) -> float:
        """Seconds until an entry falls due, by the database's clock."""
        return delayed.until_due_s(self.queue.name)
