"""State of a client's open transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.session import Session
from broker.queueing.store import NewMessage

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client
    from broker.amqp.senders.sender import Gets
    from broker.amqp.transactions.coordinator import Coordinates

TOO_MUCH = "A connection's transactions may hold {:,} {}. Commit more often."


@dataclass(slots=True, eq=False)
class Retired:
    """Deliveries with an outcome in a transaction.

    Their ``gets`` holds them until the transaction ends.
    """

    gets: Gets
    deliveries: Sequence[Delivery]
    outcome: p.Outcome | None  # None: the default outcome of the source applies
    settled: bool  # the client has settled the deliveries


@dataclass(slots=True, eq=False)
class Transaction:
    """An open transaction of a client.

    Attributes:
        id: the transaction id.
        session: the session of its declare.
        coordinates: the coordinator's end that declared it.
        puts: messages, in order.
        carried: marked deliveries of an earlier transaction that was rolled back.
        mark: the item of ``retired`` that is kept out of a rollback by the client.
        expected: its received messages that are not in ``puts`` yet.
        error: the reason why it can only be rolled back; None: it can be committed.
        is_asked: its discharge was received; nothing more can join it.
        is_over: it was discharged, or rolled back by the broker.
        then: calls to make when it is over.
    """

    id: bytes
    session: Session
    coordinates: Coordinates
    puts: list[NewMessage] = field(default_factory=list)
    put_bytes: int = 0
    retired: list[Retired] = field(default_factory=list)
    carried: list[Retired] = field(default_factory=list)
    mark: Retired | None = None
    count: int = 0  # number of puts and deliveries
    expected: int = 0
    error: AmqpError | None = None
    is_asked: bool = False
    is_over: bool = False
    then: list[Callable[[], None]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    def spoil(self, error: AmqpError) -> None:
        """Mark the transaction so that it can only be rolled back; its first error is
        kept."""
        self.error = self.error or error

    def go_on(self) -> None:
        """Make the calls that wait for the end of the transaction."""
        waiting, self.then = self.then, []
        for one in waiting:
            one()

    def check_room(self, client: Client, more: int, more_bytes: int) -> None:
        """Raise an error if a client's transactions would hold too much; after the
        error, this transaction can only be rolled back."""
        limits, every = client.limits, client.transactions.values()
        for wanted, most, what in (
            (sum(one.count for one in every), limits.transaction_messages, "messages"),
            (sum(one.put_bytes for one in every), limits.transaction_bytes, "bytes"),
        ):
            if wanted + (more if what == "messages" else more_bytes) > most:
                why = TOO_MUCH.format(most, what)
                error = AmqpError(c.RESOURCE_LIMIT_EXCEEDED, why)
                self.spoil(error)
                raise error
