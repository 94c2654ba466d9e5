"""Units of work with puts that last longer than a second: others see them.

A leased unit of work gets its row with its first get. One that has only puts has none,
so that short ones cost nothing. A thread makes the row of those that last: then they
are listed, and end at their deadline, like all others. The same thread notes in the
row, for all at once, how many messages each has put. It ends when none is left.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from broker import sql
from broker.errors import LockLost
from broker.sql.lines import is_in_transaction
from broker.transactions.prefetch import begun

if TYPE_CHECKING:
    from broker.transactions.unit_of_work import UnitOfWork

logger = logging.getLogger(__name__)

LISTED_AFTER_S = 1.0


def watch(work: UnitOfWork) -> None:
    """Have a row made for a unit of work if it only puts, and lasts, and have its puts
    noted. In a transaction of the caller, a row would be of no use."""
    if not work.puts:
        return
    if work.id is None and work.put_since_s is None:
        work.put_since_s = clock(work.now)
    if not is_in_transaction():
        here().add(work)


def unwatch(work: UnitOfWork) -> None:
    """Make no row from now on; end the unit of work if it is late.

    It is late even if it has a row, and the system has not looked at it yet: then the
    system ends the row, and what the unit of work holds, when it does.

    Raises:
        LockLost: it was past its deadline; reason 2003.
    """
    here().remove(work)
    if age_s(work) >= settings.BROKER_TRANSACTION_TIMEOUT_S:
        work.ended = True
        raise LockLost(work.id)


class Watch:
    """The units of work of this process that have puts."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        # The number of puts in the row of each; None: it has not lasted a second.
        self.works: WeakKeyDictionary[UnitOfWork, int | None] = WeakKeyDictionary()
        self.thread: threading.Thread | None = None

    def add(self, work: UnitOfWork) -> None:
        with self.lock:
            self.works.setdefault(work, None)
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self.run, name="put-only", daemon=True
                )
                self.thread.start()

    def remove(self, work: UnitOfWork) -> None:
        """Forget a unit of work without a row: afterwards the thread makes it none."""
        with self.lock:
            if work.id is None:
                self.works.pop(work, None)

    def run(self) -> None:
        try:
            while self.goes_on():
                time.sleep(LISTED_AFTER_S)
                try:
                    self.make_rows()
                    self.note_puts()
                except DatabaseError as error:
                    logger.info("A unit of work is not listed yet: %s", error)
                    connection.close()
                except Exception:  # the units of work that come later are to be listed
                    logger.exception("Units of work could not be listed.")
        finally:
            connection.close()

    def goes_on(self) -> bool:
        with self.lock:
            for work in [one for one in self.works if one.ended]:
                del self.works[work]
            if not self.works:
                self.thread = None
            return self.thread is not None

    def make_rows(self) -> None:
        """Insert the rows of units of work that have lasted long enough."""
        with self.lock:
            for work in list(self.works):
                if work.id is None and age_s(work) >= LISTED_AFTER_S:
                    timeout = timedelta(seconds=settings.BROKER_TRANSACTION_TIMEOUT_S)
                    age, puts = timedelta(seconds=age_s(work)), len(work.puts)
                    work.id = begun(work.now, age=age, timeout=timeout, puts=puts)
                    self.works[work] = puts

    def note_puts(self) -> None:
        """Write how many messages units of work have put, into those rows that were
        there a second ago. It waits for no lock: who ends one may wait for this."""
        changed: dict[int, int] = {}
        with self.lock:
            for work, noted in self.works.items():
                if work.id is not None and len(work.puts) != noted:
                    if noted is not None:
                        changed[work.id] = len(work.puts)
                    else:
                        self.works[work] = 0
        if not changed:
            return
        about = {"ids": list(changed), "numbers": list(changed.values())}
        written = {uow for (uow,) in sql.run("note_puts", about)}
        with self.lock:
            for work in self.works:
                if work.id is not None and work.id in written:
                    self.works[work] = changed[work.id]


_watch = Watch()


def here() -> Watch:
    global _watch  # noqa: PLW0603
    if _watch.pid != os.getpid():  # threads do not survive a fork
        _watch = Watch()
    return _watch


def clock(now: datetime | None) -> float:
    return time.monotonic() if now is None else now.timestamp()


def age_s(work: UnitOfWork) -> float:
    """Seconds since the first put."""
    assert work.put_since_s is not None, "it has put something"
    return clock(work.now) - work.put_since_s
