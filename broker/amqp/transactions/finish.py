"""End of a client's transaction; starts and completes in the loop's thread.

Commit: all of it, in one database transaction, after all earlier requests of the
client. Rollback: its puts are discarded. Deliveries that the client has settled are
backed out and counted; unsettled ones stay with the client. If the client itself asks
for the rollback, a delivery marked to skip backout is not backed out: it joins the
connection's next transaction.

Source:
    AMQP 1.0, part 4, section 4.4. IBM MQ, "Skipping backout".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.refusals import refusal
from broker.amqp.transactions.commit import Discharge, Ending
from broker.amqp.transactions.state import Retired, Transaction
from broker.settlement.batch import Settlement
from broker.settlement.outcomes import BackOut

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client
    from broker.amqp.transactions.coordinator import Coordinates

Told = Callable[[AmqpError | None], None]

MOST = 1000  # most transactions of a connection at once
ROLLED_BACK = "The client rolled its transaction back."
LEFT = "The client detached from the coordinator without a discharge."
LOST = "The client was lost before its transaction ended."
OVERDUE = "The transaction was not discharged in time, and has been rolled back."
TOO_MANY = f"A connection may have {MOST:,} transactions at once."
FAILED = p.Modified(delivery_failed=True)


def declare(client: Client, coordinates: Coordinates) -> Transaction:
    """Begin a transaction; it takes over a marked delivery of the previous transaction.

    Raises:
        AmqpError: there are too many transactions.
    """
    if len(client.transactions) >= MOST:
        raise AmqpError(c.RESOURCE_LIMIT_EXCEEDED, TOO_MANY)
    session = coordinates.endpoint.session
    begun = Transaction(coordinates.next_id(), session, coordinates)
    begun.carried, client.carried = client.carried, []
    begun.timer = client.listener.loop.call_later(
        client.limits.transaction_age_s, client.guard, expire, client, begun
    )
    client.transactions[begun.id] = begun
    return begun


def discharge(
    client: Client, transaction: Transaction, *, fail: bool, told: Told
) -> None:
    """End a transaction as its client asks.

    Args:
        client: the client.
        transaction: the transaction; no more of its messages are expected.
        fail: whether to roll it back.
        told: called with None when it is done, or with the reason of a rollback.
    """
    stop_timer(transaction)
    if transaction.is_over:  # the broker has already rolled it back
        assert transaction.error is not None, "which says why"
        finish(client, transaction)
        told(None if fail else transaction.error)
    elif fail:
        roll_back(client, transaction, ROLLED_BACK, is_asked=True, then=told)
    elif transaction.error is not None:
        refused(client, transaction, told, transaction.error)
    else:
        commit(client, transaction, told)


def commit(client: Client, transaction: Transaction, told: Told) -> None:
    every = transaction.carried + transaction.retired
    settlements = [
        one
        for retired in every
        for one in retired.gets.settling.settlement(retired.deliveries, retired.outcome)
    ]
    if not (settlements or transaction.puts):
        committed(client, transaction, told, None)
        return
    client.listener.settlements.add(
        [Discharge(settlements, transaction.puts, client.actor)],
        partial(client.guard, was_committed, client, transaction, told),
        transaction.put_bytes,
    )


def was_committed(
    client: Client,
    transaction: Transaction,
    told: Told,
    ended: list[tuple[Ending, Exception | None]],
) -> None:
    ((_, error),) = ended
    committed(client, transaction, told, error)


def committed(
    client: Client,
    transaction: Transaction,
    told: Told,
    error: Exception | None,
) -> None:
    if error is not None:
        refused(client, transaction, told, refusal(error))
        return
    for one in transaction.carried + transaction.retired:
        one.gets.settling.discharged(one.deliveries, one.outcome)
    finish(client, transaction)
    told(None)


def refused(
    client: Client, transaction: Transaction, told: Told, error: AmqpError
) -> None:
    """Roll back a transaction that cannot be committed; its mark is ignored.

    The error condition is never ``amqp:transaction:rollback``, which JMS clients take
    for a commit whose result is unknown.
    """
    why = AmqpError(c.PRECONDITION_FAILED, error.description, error.info)

    def tell(_: AmqpError | None) -> None:
        told(why)

    roll_back(client, transaction, error.description, is_asked=False, then=tell)


def roll_back(
    client: Client,
    transaction: Transaction,
    why: str,
    *,
    is_asked: bool,
    then: Told,
) -> None:
    """Undo a transaction; only the backout counts remain.

    Args:
        client: the client.
        transaction: the transaction.
        why: the reason, for the operator.
        is_asked: whether the client asks for it; only then a mark has effect.
        then: called with None when it is done.
    """
    transaction.puts, transaction.put_bytes, transaction.count = [], 0, 0
    every = transaction.carried + transaction.retired
    transaction.carried, transaction.retired = [], []
    if is_asked and transaction.mark is not None:
        every.remove(transaction.mark)
        client.carried.append(transaction.mark)

    def done() -> None:
        finish(client, transaction)
        then(None)

    back_out(client, every, why, done)


def back_out(
    client: Client,
    every: Sequence[Retired],
    why: str,
    done: Callable[[], None],
) -> None:
    """Back out and count settled deliveries; unsettled ones stay with the client."""
    waiting = len(every) + 1

    def another() -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            done()

    for retired in every:
        if retired.settled:
            settle_as_failed(client, retired, why, another)
        else:
            retired.gets.settling.rolled_back(retired.deliveries, is_settled=False)
            another()
    another()


def settle_as_failed(
    client: Client, retired: Retired, why: str, then: Callable[[], None]
) -> None:
    settlements = retired.gets.settling.settlement(retired.deliveries, FAILED)
    waiting = len(settlements) + 1

    def one_done(_: object) -> None:
        """Ignore errors of one delivery: if its entry is no longer held, another
        process has backed it out."""
        nonlocal waiting
        waiting -= 1
        if not waiting:
            retired.gets.settling.rolled_back(retired.deliveries, is_settled=True)
            then()

    for one in settlements:
        counted: Settlement = replace(one, outcome=BackOut(why))
        client.listener.settlements.add(
            [counted], partial(client.guard, one_done), len(one.ids)
        )
    one_done(None)


def finish(client: Client, transaction: Transaction) -> None:
    """Mark a transaction as over, and continue everything that waits for its end."""
    stop_timer(transaction)
    transaction.is_over = True
    client.transactions.pop(transaction.id, None)
    transaction.go_on()


def expire(client: Client, transaction: Transaction) -> None:
    """Roll back a transaction that takes too long; its id stays until the discharge."""
    if transaction.is_asked:
        return
    transaction.spoil(AmqpError(c.TRANSACTION_TIMEOUT, OVERDUE))

    def keep(_: AmqpError | None) -> None:
        if client.gone or transaction.is_asked:
            return
        transaction.is_over = True
        client.transactions[transaction.id] = transaction

    roll_back(client, transaction, OVERDUE, is_asked=False, then=keep)


def leave(client: Client, coordinates: Coordinates) -> None:
    """Roll back a coordinator's transactions that are not discharged."""
    for one in list(client.transactions.values()):
        if one.coordinates is coordinates and not one.is_asked:
            abandon(client, one, LEFT)


def lose(client: Client) -> None:
    """Roll back all transactions that are not discharged, as the connection is over."""
    for one in list(client.transactions.values()):
        if not one.is_asked:
            abandon(client, one, LOST)
    carried, client.carried = client.carried, []
    back_out(client, carried, LOST, lambda: None)


def abandon(client: Client, transaction: Transaction, why: str) -> None:
    transaction.is_asked = True
    roll_back(client, transaction, why, is_asked=False, then=lambda _: None)


def stop_timer(transaction: Transaction) -> None:
    if transaction.timer is not None:
        transaction.timer.cancel()
        transaction.timer = None
