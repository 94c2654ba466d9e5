"""Transactions of clients: puts and outcomes wait in memory until the discharge.

Before it, nothing is in the database. A transaction ends once: committed as a whole, or
rolled back, by the client or because of an error. It belongs to one connection. All of
this runs in the loop's thread.

Source:
    AMQP 1.0, part 4, section 4.4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.session import Session
from broker.amqp.refusals import refusal
from broker.errors.units_of_work import SecondMark
from broker.queueing.store import NewMessage
from broker.transactions.merged_puts import size_of

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client
    from broker.amqp.senders.sender import Gets
    from broker.amqp.transactions.coordinator import Coordinates

UNKNOWN = "There is no such transaction, or it was discharged already."
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


def put(
    client: Client,
    state: p.TransactionalState,
    messages: Sequence[NewMessage],
) -> None:
    """Add messages to a transaction, to be put when it commits.

    Raises:
        AmqpError: the messages cannot join the transaction.
    """
    found = client.transactions.get(state.txn_id)
    if found is not None and found.error is not None:
        raise found.error
    if found is None or (found.is_asked and not found.expected):
        raise AmqpError(c.UNKNOWN_TRANSACTION, UNKNOWN)
    size = sum(map(size_of, messages))
    found.check_room(client, len(messages), size)
    found.puts += messages
    found.put_bytes += size
    found.count += len(messages)


def enlist(
    client: Client,
    gets: Gets,
    deliveries: Sequence[Delivery],
    state: p.TransactionalState,
    *,
    settled: bool,
) -> None:
    """Add the outcome of deliveries to a transaction.

    The transaction owns them until it calls ``discharged`` or ``rolled_back`` of
    ``gets.settling``. If there is no such transaction, they are backed out.
    """
    if state.outcome is None and not settled:
        return
    found = client.transactions.get(state.txn_id)
    if found is None or found.is_asked or found.is_over:
        gets.settling.end_badly(deliveries, UNKNOWN, is_settled=settled)
        return
    retired = Retired(gets, list(deliveries), state.outcome, settled)
    found.retired.append(retired)
    with suppress(AmqpError):  # the discharge of the transaction will report the error
        found.check_room(client, len(retired.deliveries), 0)
    found.count += len(retired.deliveries)
    if gets.mark:
        mark(found, retired)


def mark(transaction: Transaction, retired: Retired) -> None:
    """Mark a delivery to skip backout; only one in a transaction is allowed.

    Source:
        IBM MQ, reason 2062: one mark for each unit of work.
    """
    if transaction.mark is not None or len(retired.deliveries) > 1:
        transaction.spoil(refusal(SecondMark(None)))
    else:
        transaction.mark = retired


def expect(client: Client, states: Iterable[p.TransactionalState]) -> None:
    """Count received messages of transactions, which may wait before they are put."""
    for state in states:
        found = client.transactions.get(state.txn_id)
        if found is not None and not found.is_asked:
            found.expected += 1


def come(client: Client, states: Iterable[p.TransactionalState]) -> None:
    """Uncount expected messages that were put or refused."""
    for state in states:
        found = client.transactions.get(state.txn_id)
        if found is not None and found.expected:
            found.expected -= 1
            if not found.expected:
                found.coordinates.advance()


def spoil(client: Client, state: p.TransactionalState, error: AmqpError) -> None:
    """Prevent the commit, as a message that was sent settled was refused."""
    found = client.transactions.get(state.txn_id)
    if found is not None:
        found.spoil(error)


def in_way(client: Client, session: Session) -> Transaction | None:
    """The last transaction of a session that is being discharged now; None if there is
    none."""
    every: Iterable[Transaction] = reversed(client.transactions.values())
    for one in every:
        if one.session is session and one.is_asked and not one.is_over:
            return one
    return None
