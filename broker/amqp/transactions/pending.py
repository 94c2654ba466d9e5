"""What a client's transaction holds while it waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from broker.amqp.interfaces import (
    ClientContext,
    CoordinatorContext,
    LinkContext,
    ListenerContext,
)
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.interfaces import SessionOutput
from broker.amqp.threads import Batches
from broker.amqp.transactions.commit import Ending
from broker.amqp.transactions.store import Put
from broker.queueing.store import NewMessage

TOO_MUCH = "A connection's transactions may hold {:,} {}. Commit more often."


class TransactionListener(ListenerContext, Protocol):
    """The ``Listener`` of a client that puts and settles."""

    puts: Batches[Put, None]
    settlements: Batches[Ending, None]


class TransactionClient(ClientContext, Protocol):
    """The ``Client`` whose transactions these are, by their ids."""

    transactions: dict[bytes, Transaction]
    carried: list[Retired]  # from one transaction to the next

    @property
    def listener(self) -> TransactionListener: ...


@dataclass(slots=True, eq=False)
class Retired:
    """Deliveries that a client has settled, or wants to, in a transaction.

    They stay with their ``gets`` until the transaction ends.
    """

    gets: LinkContext
    deliveries: Sequence[Delivery]
    outcome: p.Outcome | None  # None: what its source says of those without
    settled: bool  # by the client


@dataclass(slots=True, eq=False)
class Transaction:
    """What waits for its end.

    Attributes:
        id: by which the client names it.
        session: in which it was declared.
        coordinates: what has declared it.
        puts: in the order in which they came.
        carried: marked deliveries of one before that was rolled back.
        mark: the one of ``retired`` that stays out if the client rolls back.
        expected: messages of it that came and are not among the puts yet.
        error: why it can only be rolled back.
        is_asked: its discharge has come; nothing more can join it.
        is_over: it was discharged, or rolled back without that.
        then: what waits until it is over.
    """

    id: bytes
    session: SessionOutput[Endpoint]
    coordinates: CoordinatorContext
    puts: list[NewMessage] = field(default_factory=list)
    put_bytes: int = 0
    retired: list[Retired] = field(default_factory=list)
    carried: list[Retired] = field(default_factory=list)
    mark: Retired | None = None
    count: int = 0  # of puts and deliveries
    expected: int = 0
    error: AmqpError | None = None
    is_asked: bool = False
    is_over: bool = False
    then: list[Callable[[], None]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None

    def spoil(self, error: AmqpError) -> None:
        """Let it be rolled back, whatever is asked; of errors the first one counts."""
        self.error = self.error or error

    def go_on(self) -> None:
        """Do what waits."""
        waiting, self.then = self.then, []
        for one in waiting:
            one()

    def check_room(self, client: TransactionClient, more: int, more_bytes: int) -> None:
        """Raise where a client's transactions would hold too much; then this one can
        only be rolled back."""
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
