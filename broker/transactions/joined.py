"""A unit of work that ends with the caller's database transaction.

Entries that it gets before the transaction begins are claimed outside it, as in a
leased unit of work. So their deliveries are counted even if the process dies, and the
transaction is as short as the caller's work in the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from django.db import transaction
from psycopg.pq import TransactionStatus

from broker.errors import LockLost
from broker.formats.mq.mqdlh import Signature
from broker.queueing import delayed
from broker.queueing.get import Delivery
from broker.queueing.low_watermarks import FLOORS
from broker.settlement import settle
from broker.settlement.outcomes import failure
from broker.settlement.poison import Removing
from broker.settlement.redelivery_policy import Removal
from broker.sql.lines import database
from broker.transactions.session import Lent
from broker.transactions.unit_of_work import UnitOfWork


@contextmanager
def joined(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    """Like ``unit_of_work``; the caller's rows are committed or rolled back with it."""
    work = JoinedUnitOfWork(actor=actor, now=now)
    work.begin()
    try:
        yield work
        work.commit()
    except BaseException as error:
        work.roll_back(error)
        raise


class JoinedUnitOfWork(UnitOfWork):
    """A unit of work whose accepts and puts are part of the caller's transaction.

    Entries that it gets after the transaction has begun are part of it, too.
    """

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        super().__init__(actor=actor, coordinated=True, now=now)
        self.session = Lent.now()
        self.transaction: transaction.Atomic | None = None
        # Deliveries that were got within the transaction: a rollback releases their
        # entries.
        self.later: list[Delivery] = []
        self.later_from: set[str] = set()  # names of the queues of ``later``

    def begin(self) -> None:
        """Begin the transaction; psycopg sends this with the first statement."""
        self.transaction = transaction.atomic(durable=True)
        self.transaction.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """Commit the transaction, or roll it back; no effect if it has ended."""
        ending, self.transaction = self.transaction, None
        if ending is None:
            return
        if error is None:
            ending.__exit__(None, None, None)
        else:
            ending.__exit__(type(error), error, None)

    def get(self, queue: str, limit: int = 1, **rest: Any) -> list[Delivery]:
        if not self.is_untouched():
            deliveries = super().get(queue, limit, **rest)
            self.later += deliveries
            self.later_from.add(queue)
            return deliveries
        self.end()
        try:
            return super().get(queue, limit, **rest)
        finally:
            self.begin()

    def remove_alone(
        self, removing: Removing, signature: Signature, *, user: Any
    ) -> Removal | None:
        if not self.is_untouched():
            return None
        self.end()
        try:
            return super().remove_alone(removing, signature, user=user)
        finally:
            self.begin()

    def is_untouched(self) -> bool:
        """Whether the transaction has no statement and no callback yet."""
        django = database()
        line = django.connection
        return not django.run_on_commit and (
            line is None or line.pgconn.transaction_status == TransactionStatus.IDLE
        )

    def watch(self) -> None:
        """Do nothing: the unit of work ends with the transaction."""

    def commit(self) -> None:
        """Accept the entries and send the puts, and commit the caller's transaction."""
        self.check_open()
        if self.only_accepts() and self.is_untouched():
            # The caller has changed nothing, so the accept need not join the
            # transaction.
            self.end()
        self.carry_out()
        self.end()
        self.session.check()
        self.ended = True

    def roll_back(self, error: BaseException) -> None:
        """Roll the transaction back, then back out all entries."""
        self.end(error)
        self.session.take_back()
        outcome = failure(error)
        if self.id is not None:
            with suppress(LockLost):  # the claims were rolled back, or are gone
                self.end_failed(self.id, outcome)
        # The rollback made these entries ready again, without counting a backout.
        if self.later:
            FLOORS.forget()
            # Entries that the get itself had made ready are delayed again, so they are
            # woken.
            for queue in self.later_from:
                delayed.wake_due_on(queue, limit=len(self.later), now=self.now)
        for queue_id in {delivery.queue_id for delivery in self.later}:
            ids = [d.message_id for d in self.later if d.queue_id == queue_id]
            settle.end_ready(queue_id, ids, outcome, **self.about)
