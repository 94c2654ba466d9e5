"""Gets and puts that take effect together, or not at all.

There is one mechanism, held in two ways. *Leased*: the entries are in claims under the
name of this process; no database transaction is open while the caller thinks, and its
puts wait here until the commit. *Joined*: gets, puts and the caller's own rows are one
database transaction, so that a handler's effects and its acceptance are one commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from broker import delays, owner, settle
from broker.errors import LockLost, UnitOfWorkEnded
from broker.floors import FLOORS
from broker.get import Delivery, get
from broker.put import NewMessage, put_many
from broker.redelivery import Disposition

PART = 200  # entries of one claim


class UnitOfWork:
    """An open unit of work. It ends once: by ``commit`` or by ``back_out``."""

    def __init__(self, *, actor: str = "", now: datetime | None = None) -> None:
        self.actor = actor
        self.now = now  # for tests; the database's clock when not given
        self.id: int | None = None  # from the first get that found something
        self.held = 0  # entries neither accepted nor released yet
        self.claims = 0
        self.puts: list[NewMessage] = []
        self.ended = False

    def get(self, queue: str, limit: int = 1) -> list[Delivery]:
        """Take up to ``limit`` entries; an empty list when nothing is ready."""
        self.check_open()
        deliveries = self.take(queue, limit)
        if not deliveries and delays.wake_due_on(queue, limit=limit, now=self.now):
            deliveries = self.take(queue, limit)
        return deliveries

    def take(self, queue: str, limit: int) -> list[Delivery]:
        deliveries = get(
            queue,
            owner=owner.current(),
            uow=self.id,
            claim_id=self.claims,
            limit=limit,
            actor=self.actor,
            now=self.now,
        )
        if deliveries:
            self.id = deliveries[0].uow
            self.held += len(deliveries)
            self.claims += -(-len(deliveries) // PART)
        elif self.id is None and not connection.in_atomic_block:
            owner.renew()
        return deliveries

    def put(self, address: str, body: bytes = b"", **fields: Any) -> None:
        """Send a message when this unit of work commits; see ``put.NewMessage``."""
        self.check_open()
        self.puts.append(NewMessage(address, body, **fields))

    def accept(self, delivery: Delivery) -> None:
        """Settle one delivery before the rest."""
        self.check_open()
        settle.accept_some(
            delivery.uow,
            delivery.queue_id,
            [delivery.message_id],
            actor=self.actor,
            now=self.now,
        )
        self.held -= 1

    def release(self, delivery: Delivery) -> None:
        """Give one delivery back, uncounted."""
        self.check_open()
        settle.release_some(
            delivery.uow,
            delivery.queue_id,
            [delivery.message_id],
            actor=self.actor,
            now=self.now,
        )
        self.held -= 1

    def commit(self) -> None:
        """Accept what was got and send what was put, in one transaction.

        Raises:
            LockLost: it was ended meanwhile; nothing was sent.
        """
        self.check_open()
        with transaction.atomic():
            if self.puts:
                put_many(self.puts, uow=self.id, actor=self.actor, now=self.now)
            if self.id is not None:
                settle.accept(
                    self.id, expected=self.held, actor=self.actor, now=self.now
                )
        self.ended = True

    def back_out(self, error: str, *, spread: float | None = None) -> list[Disposition]:
        """Count and dispose of what was got; forget what was put.

        Raises:
            LockLost: it was ended meanwhile, and counted then.
        """
        self.check_open()
        self.ended = True
        if self.id is None:
            return []
        if not self.held:  # all were settled one by one
            settle.accept(self.id, expected=0, actor=self.actor, now=self.now)
            return []
        return settle.back_out(
            self.id, error, actor=self.actor, spread=spread, now=self.now
        )

    def check_open(self) -> None:
        if self.ended:
            raise UnitOfWorkEnded(self.id)


@contextmanager
def unit_of_work(
    *, join: bool = False, actor: str = "", now: datetime | None = None
) -> Iterator[UnitOfWork]:
    """A unit of work that commits when its block ends, and is backed out if it raises.

    The exception is the error that operators read, and is raised again.

    Args:
        join: make it one with a database transaction, which begins and ends here; the
            caller's own rows commit with the acceptance, or are undone. Not inside
            another transaction: only the outermost can promise that.
        actor: who does it, for the journal.
        now: when, for tests.
    """
    if join:
        with joined(actor=actor, now=now) as work:
            yield work
        return
    work = UnitOfWork(actor=actor, now=now)
    try:
        yield work
        if not work.ended:
            work.commit()
    except BaseException as error:
        if not work.ended:
            back_out_if_held(work, describe(error))
        raise


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
        super().__init__(actor=actor, now=now)
        self.savepoint: transaction.Atomic | None = None
        self.error: BaseException | None = None
        self.first: list[Delivery] = []  # before the savepoint: they stay locked
        self.later: list[Delivery] = []

    def get(self, queue: str, limit: int = 1) -> list[Delivery]:
        untouched = self.savepoint is None and not has_written()
        deliveries = super().get(queue, limit)
        if untouched and deliveries:
            self.savepoint = transaction.atomic()
            self.savepoint.__enter__()
            self.first = deliveries
        else:
            self.later += deliveries
        return deliveries

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


def back_out_if_held(work: UnitOfWork, error: str) -> None:
    """Back out, unless the system has done so already."""
    try:
        work.back_out(error)
    except LockLost:
        return


def describe(error: BaseException) -> str:
    """An exception in one line, as operators read it."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
