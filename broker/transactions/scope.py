"""Units of work: gets and puts that take effect together, or not at all.

There are two kinds. *Leased*: entries are claimed in the name of this process, no
database transaction is open while the caller works, and puts wait in memory until
commit. *Joined*: gets, puts and the caller's own rows are one database transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from broker.errors import LockLost
from broker.settlement.outcomes import describe, failure
from broker.transactions.joined import joined
from broker.transactions.session import Lent
from broker.transactions.unit_of_work import UnitOfWork

__all__ = ["UnitOfWork", "describe", "unit_of_work"]


def unit_of_work(
    *, join: bool = False, actor: str = "", now: datetime | None = None
) -> AbstractContextManager[UnitOfWork]:
    """A unit of work that commits at the end of its block, and is backed out if the
    block raises an exception.

    Operators see the exception as the error of the messages; it is raised again.
    ``Reject`` dead-letters all messages of the unit of work, without another attempt.

    Args:
        join: use one database transaction for the unit of work and the caller's own
            rows: both are committed, or both are rolled back. The transaction begins
            and ends with the block; the block must not be inside another transaction.
        actor: name that the journal records.
        now: the current time, for tests.
    """
    return (joined if join else leased)(actor=actor, now=now)


@contextmanager
def leased(*, actor: str, now: datetime | None) -> Iterator[UnitOfWork]:
    session = Lent.now()
    work = UnitOfWork(actor=actor, now=now)
    try:
        yield work
        session.check()
    except BaseException as error:
        session.take_back()
        if not work.ended:
            back_out_unless_lost(work, error)
        raise
    if not work.ended:
        work.commit()


def back_out_unless_lost(work: UnitOfWork, error: BaseException) -> None:
    """Back out a unit of work, unless the system has done so already."""
    try:
        work.back_out(failure(error))
    except LockLost:
        return
