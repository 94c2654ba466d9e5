"""The marker: tells whether a provider without prepare has committed a batch.

A queue of the link at that provider holds exactly one message: the number of the last
batch committed there. Each transaction consumes it and sends the next number, so it
changes if and only if the batch is committed.
"""

from __future__ import annotations

from broker.bridges.providers.interface import (
    Destination,
    ProviderSession,
    ProviderSubscription,
    Received,
)
from broker.errors.bridges import ProviderLost, WrongFactory
from broker.queueing.store import NewMessage

PREFIX = "backout.bridge."
WAIT_S = 10.0  # wait for the marker; a dying connection may still hold it
MISSING = (
    "The marker of the link is not on the queue {queue!r} there. Another process may"
    " still be connected; the link tries again. If no process is connected, put a"
    " message with the text {number} on that queue: all batches up to that number have"
    " arrived."
)


class Marker:
    """The marker of one link, held by this connection.

    Attributes:
        number: the number of the last batch that the provider has committed.
        is_stale: a transaction was rolled back; a new session is needed.
    """

    def __init__(self, session: ProviderSession, key: str, factory: str) -> None:
        self.session = session
        self.queue = Destination(f"{PREFIX}{key}.marker")
        self.factory = factory
        self.is_stale = False
        self.subscription: ProviderSubscription = session.subscribe(
            self.queue, prefetch=1
        )
        self.held: Received | None = None
        self.number = 0
        self.next = 0

    def read(self, last: int) -> int:
        """Receive the marker; create it if the link has never had one.

        Args:
            last: the last batch number known to this broker.

        Raises:
            ProviderLost: it is missing, although it existed.
        """
        if self.take(WAIT_S if last else 1.0):
            return self.number
        if last:
            why = MISSING.format(queue=self.queue.name, number=last)
            raise ProviderLost(self.factory, why)
        self.session.send([self.message(0)], self.queue)
        if not self.take(WAIT_S):
            raise ProviderLost(
                self.factory, "The marker that was sent was not received."
            )
        return self.number

    def take(self, wait_s: float) -> bool:
        got = self.subscription.receive(1, wait_s)
        if not got:
            return False
        self.held = got[0]
        try:
            self.number = int(self.held.message.body)
        except ValueError:
            why = (
                f"The queue {self.queue.name!r} has a message that is not a marker."
                " Remove it."
            )
            raise WrongFactory(self.factory, why) from None
        return True

    def advance(self, number: int) -> None:
        """Replace the marker by the batch's number, in the open transaction."""
        assert self.held is not None, "it was read first"
        self.subscription.acknowledge([self.held])
        self.session.send([self.message(number)], self.queue)
        self.next = number

    def advanced(self) -> None:
        """Receive the new marker, after the commit.

        Raises:
            ProviderLost: the marker does not come.
        """
        if not self.take(WAIT_S) or self.number != self.next:
            raise ProviderLost(self.factory, "The new marker was not received.")

    def message(self, number: int) -> NewMessage:
        return NewMessage(
            self.queue.name, str(number).encode(), "text/plain; charset=utf-8"
        )
