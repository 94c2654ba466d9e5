"""A unit of work that is the caller's database transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from psycopg.pq import TransactionStatus

from broker.errors import LockLost
from broker.queueing.get import Delivery
from broker.queueing.low_watermarks import FLOORS
from broker.settlement import settle
from broker.settlement.outcomes import failure
from broker.transactions.unit_of_work import UnitOfWork


@contextmanager
def joined(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    """Like ``unit_of_work``; the caller's database transaction is the unit of work.

    With ``BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY``, entries are claimed and
    counted before the transaction, as in a leased unit of work; the transaction only
    accepts them.
    """
    if settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY:
        with counted_first(actor=actor, now=now) as work:
            yield work
    else:
        with counted_last(actor=actor, now=now) as work:
            yield work


@contextmanager
def counted_first(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    """A unit of work whose claims are made outside the transaction; if the transaction
    fails, they are backed out."""
    work = CountedFirst(actor=actor, now=now)
    work.begin()
    try:
        yield work
        work.commit()
        work.end()
    except BaseException as error:
        work.end(error)
        work.back_out_all(error)
        raise


@contextmanager
def counted_last(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    """A unit of work whose gets are locked by the transaction.

    If the block raises an exception, a savepoint after the first get undoes the
    caller's rows while the entries stay locked. So the failure is counted before
    another consumer can get them.
    """
    work = CountedLast(actor=actor, now=now)
    try:
        with transaction.atomic(durable=True):
            try:
                yield work
                work.commit()
                work.leave_savepoint(None)
            except BaseException as error:
                if not work.leave_savepoint(error):
                    raise
                work.error = error
                work.back_out_first(error)
    except BaseException as error:
        FLOORS.forget()  # entries below the floors may be ready again
        work.back_out_again(work.first + work.later, error)
        raise
    if work.error is not None:
        work.back_out_again(work.later, work.error)
        raise work.error


class JoinedUnitOfWork(UnitOfWork):
    """A unit of work within the open database transaction."""

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        super().__init__(actor=actor, coordinated=True, now=now)
        self.later: list[Delivery] = []  # deliveries that only the transaction holds

    def commit(self) -> None:
        """Accept the entries and send the puts in the caller's transaction; its commit
        makes them final."""
        self.check_open()
        self.carry_out()
        self.ended = True

    def back_out_again(self, deliveries: list[Delivery], error: BaseException) -> None:
        """Count failed deliveries whose transaction was rolled back, if their entries
        are still ready."""
        for queue_id in {delivery.queue_id for delivery in deliveries}:
            ids = [d.message_id for d in deliveries if d.queue_id == queue_id]
            settle.end_ready(
                queue_id, ids, failure(error), actor=self.actor, now=self.now
            )


class CountedFirst(JoinedUnitOfWork):
    """A get before the transaction has written anything claims its entries outside the
    transaction. A later get is part of the transaction.
    """

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        super().__init__(actor=actor, now=now)
        self.transaction: transaction.Atomic | None = None

    def begin(self) -> None:
        beginning = transaction.atomic(durable=True)
        beginning.__enter__()
        self.transaction = beginning

    def end(self, error: BaseException | None = None) -> None:
        """Commit the transaction, or roll it back; no effect if it has ended."""
        if self.transaction is None:
            return
        ending, self.transaction = self.transaction, None
        if error is None:
            ending.__exit__(None, None, None)
        else:
            ending.__exit__(type(error), error, error.__traceback__)

    def get(self, queue: str, limit: int = 1, **rest: Any) -> list[Delivery]:
        if has_written() or connection.run_on_commit:
            deliveries = super().get(queue, limit, **rest)
            self.later += deliveries
            return deliveries
        self.end()
        try:
            return super().get(queue, limit, **rest)
        finally:
            self.begin()

    def back_out_all(self, error: BaseException) -> None:
        FLOORS.forget()  # the rollback may make entries below them ready again
        if self.id is not None:
            with suppress(LockLost):  # its claims were rolled back, or are gone
                settle.end(self.id, failure(error), actor=self.actor, now=self.now)
        self.back_out_again(self.later, error)


class CountedLast(JoinedUnitOfWork):
    """All gets are part of the transaction."""

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        super().__init__(actor=actor, now=now)
        self.savepoint: transaction.Atomic | None = None
        self.error: BaseException | None = None
        # Deliveries got before the savepoint: they stay locked.
        self.first: list[Delivery] = []

    def get(self, queue: str, limit: int = 1, **rest: Any) -> list[Delivery]:
        untouched = self.savepoint is None and not has_written()
        deliveries = super().get(queue, limit, **rest)
        if untouched and deliveries:
            self.savepoint = transaction.atomic()
            self.savepoint.__enter__()
            self.first = deliveries
        else:
            self.later += deliveries
        return deliveries

    def leave_savepoint(self, error: BaseException | None) -> bool:
        """Keep or undo the changes since the savepoint; return whether there was a
        savepoint."""
        if self.savepoint is None:
            return False
        savepoint, self.savepoint = self.savepoint, None
        if error is None:
            savepoint.__exit__(None, None, None)
        else:
            savepoint.__exit__(type(error), error, error.__traceback__)
        return True

    def back_out_first(self, error: BaseException) -> None:
        assert self.id is not None, "a savepoint stands after a get"
        settle.end(self.id, failure(error), actor=self.actor, now=self.now)


def has_written() -> bool:
    """Whether the open transaction has changed anything yet.

    psycopg begins a transaction with its first statement. So the server is not asked
    when there was none.
    """
    line = connection.connection
    if line is not None and line.info.transaction_status == TransactionStatus.IDLE:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        (written,) = cursor.fetchone()
    return bool(written)
