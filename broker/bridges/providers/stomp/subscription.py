"""Subscription: consume from one destination.

STOMP can only reject a message (NACK); ActiveMQ and Artemis then move it to their dead
letter queue. And a new subscription may get messages in another order. So a released
message stays here, unacknowledged, and is received again first. The server does not
know of this, and counts no attempt. It gets the message back in its place when the
subscription is closed or the connection lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import attrgetter
from time import monotonic

from stomp.utils import Frame

from broker.bridges.providers.interface import Destination, Lag, Received
from broker.bridges.providers.stomp import refusals
from broker.bridges.providers.stomp.connection import WINDOW, StompConnection
from broker.bridges.providers.stomp.messages import from_frame, moment
from broker.bridges.providers.stomp.transactions import Transaction
from broker.errors.bridges import ProviderLost


@dataclass(slots=True)
class StompDelivery:
    """An unacknowledged message from the server."""

    number: int  # number in the order of arrival
    frame: Frame
    is_again: bool = False  # the message was released before


class StompSubscription:
    """See ``interface.Subscription``."""

    def __init__(
        self,
        connection: StompConnection,
        key: str,
        destination: Destination,
        transaction: Callable[[], Transaction | None],
        *,
        is_alone: bool,
    ) -> None:
        """
        Args:
            key: the subscription id.
            transaction: returns the open transaction, if any.
            is_alone: whether the connection is for this subscription only.
        """
        self.connection = connection
        self.key = key
        self.destination = destination
        self.transaction = transaction
        self.is_alone = is_alone
        self.came = connection.messages.setdefault(key, deque())
        self.waiting: deque[StompDelivery] = deque()
        # Deliveries that the caller has received, by number.
        self.held: dict[int, StompDelivery] = {}
        self.numbers = count()

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        deadline = monotonic() + wait_s
        self.look()
        while not (self.waiting or self.connection.lost) and monotonic() < deadline:
            self.connection.take(deadline)
            self.look()
        self.connection.check()
        found: list[Received] = []
        while self.waiting and len(found) < limit:
            delivery = self.waiting.popleft()
            self.held[delivery.number] = delivery
            found.append(self.received(delivery))
        return found

    def look(self) -> None:
        """Take all available messages, without waiting."""
        while self.connection.take():
            pass
        while self.came:
            self.waiting.append(StompDelivery(next(self.numbers), self.came.popleft()))

    def received(self, delivery: StompDelivery) -> Received:
        """Decode a message, anew at each call, as an earlier receiver may have changed
        the decoded message."""
        options, headers = self.connection.options, delivery.frame.headers
        named = headers.get("destination", "")
        return Received(
            from_frame(
                headers,
                delivery.frame.body or b"",
                address=self.destination.name,
                dialect=self.connection.dialect,
                queue_prefix=options.queue_prefix,
            ),
            delivery.number,
            options.destination_of(named, self.destination),
            message_id=headers.get("message-id", ""),
            sent_at=moment(headers.get("timestamp")),
            redelivered=delivery.is_again or headers.get("redelivered") == "true",
        )

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``. After a rollback of the open transaction, the
        messages are received again.

        Raises:
            ProviderLost: see ``interface.Subscription``; also if the server does not
                accept the acknowledgement.
        """
        taken = [self.taken(one.handle) for one in received]
        transaction = self.transaction()
        for start in range(0, len(taken), WINDOW):
            self.settle(taken[start : start + WINDOW], transaction)
        if transaction is not None:
            transaction.undoing.append(partial(self.give_back, taken))

    def taken(self, number: int) -> StompDelivery:
        """Remove a delivery that is to be acknowledged.

        Raises:
            ProviderLost: the delivery was acknowledged before, or never received.
        """
        found = self.held.pop(number, None)
        if found is None:
            found = next((one for one in self.waiting if one.number == number), None)
            if found is None:
                self.connection.lose("the messages had already been acknowledged")
            self.waiting.remove(found)
        return found

    def settle(
        self, taken: Sequence[StompDelivery], transaction: Transaction | None
    ) -> None:
        """Acknowledge deliveries in order, and wait for the receipt of the last one.

        If the server refuses an acknowledgement, an open transaction cannot be
        committed.
        """
        headers = [{"id": one.frame.headers["ack"]} for one in taken]
        if transaction is None:
            self.connection.forget_error()
        else:
            headers = [one | transaction.headers for one in headers]
        for one in headers[:-1]:
            self.connection.tell("ACK", one)
        (answer,) = self.connection.wait([self.connection.ask("ACK", headers[-1])])
        if answer.cmd != "RECEIPT":
            self.connection.error = answer
        if self.connection.error is not None and transaction is None:
            said = refusals.error_text(self.connection.error)
            self.connection.lose(f"it refused the acknowledgements: {said}")

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """Keep messages here, to be received again in order.

        Args:
            failed: ignored; see the module.
        """
        self.give_back(
            delivery
            for one in received
            if (delivery := self.held.pop(one.handle, None)) is not None
        )

    def give_back(self, deliveries: Iterable[StompDelivery]) -> None:
        """Put deliveries back in their places, to be received again."""
        back = list(deliveries)
        for one in back:
            one.is_again = True
        if back:
            order = attrgetter("number")
            self.waiting = deque(sorted([*back, *self.waiting], key=order))

    def lag(self) -> Lag | None:
        """None: the lag is not available in STOMP."""
        return None

    def close(self) -> None:
        """Stop consuming. A durable subscription stays, and keeps messages."""
        if self.is_alone:
            self.connection.close()
        elif not self.connection.lost:
            with suppress(ProviderLost):  # the server then has the messages back
                unsubscribed = self.connection.ask("UNSUBSCRIBE", {"id": self.key})
                self.connection.wait([unsubscribed])
        self.connection.messages.pop(self.key, None)
        self.waiting.clear()
        self.held.clear()
