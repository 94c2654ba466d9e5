"""A unit of work that is one with a database transaction of the caller's own rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from broker import settle
from broker.floors import FLOORS
from broker.get import Delivery
from broker.leased import UnitOfWork, describe


@contextmanager
def joined(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    """See ``unit_of_work``; the database transaction is the unit of work.

    What a get took is locked by the transaction. If the block raises, a savepoint after
    the first get undoes the caller's rows while the entries stay locked, so that they
    are counted before anybody else can have them.
    """
    work = JoinedUnitOfWork(actor=actor, now=now)
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
                work.back_out_first(describe(error))
    except BaseException as error:
        FLOORS.forget()  # entries may be ready again below them
        work.back_out_again(work.first + work.later, describe(error))
        raise
    if work.error is not None:
        work.back_out_again(work.later, describe(work.error))
        raise work.error


class JoinedUnitOfWork(UnitOfWork):
    """A unit of work within the open database transaction."""

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        super().__init__(actor=actor, coordinated=True, now=now)
        self.savepoint: transaction.Atomic | None = None
        self.error: BaseException | None = None
        self.first: list[Delivery] = []  # before the savepoint: they stay locked
        self.later: list[Delivery] = []

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

    def commit(self) -> None:
        """As part of the transaction, which alone commits or undoes it."""
        self.check_open()
        self.carry_out()
        self.ended = True

    def leave_savepoint(self, error: BaseException | None) -> bool:
        """Keep or undo what was done since the savepoint; say if there was one."""
        if self.savepoint is None:
            return False
        savepoint, self.savepoint = self.savepoint, None
        if error is None:
            savepoint.__exit__(None, None, None)
        else:
            savepoint.__exit__(type(error), error, error.__traceback__)
        return True

    def back_out_first(self, error: str) -> None:
        assert self.id is not None, "a savepoint stands after a get"
        settle.back_out(self.id, error, actor=self.actor, now=self.now)

    def back_out_again(self, deliveries: list[Delivery], error: str) -> None:
        """Count deliveries whose transaction is gone, where they are still ready."""
        for queue_id in {delivery.queue_id for delivery in deliveries}:
            ids = [d.message_id for d in deliveries if d.queue_id == queue_id]
            settle.back_out_ready(queue_id, ids, error, actor=self.actor, now=self.now)


def has_written() -> bool:
    """Whether the open transaction has changed anything yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        (written,) = cursor.fetchone()
    return bool(written)
