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

from broker.errors import LockLost
from broker.errors.units_of_work import Reject
from broker.settlement.reject import describe
from broker.transactions.joined import joined
from broker.transactions.unit_of_work import UnitOfWork

__all__ = ["UnitOfWork", "describe", "unit_of_work"]


@contextmanager
def unit_of_work(
    *, join: bool = False, actor: str = "", now: datetime | None = None
) -> Iterator[UnitOfWork]:
    """A unit of work that commits when its block ends, and is backed out if it raises.

    The exception is the error that operators read, and is raised again. With ``Reject``
    all that was got is put aside, and not tried again.

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
    except BaseException as error:
        if not work.ended:
            back_out_unless_lost(work, error)
        raise
    if not work.ended:
        work.commit()


def back_out_unless_lost(work: UnitOfWork, error: BaseException) -> None:
    """Back out, unless the system has done so already."""
    try:
        work.back_out(describe(error), rejected=isinstance(error, Reject))
    except LockLost:
        return
