"""The database session of this thread, where foreign code has used it.

A handler may end the session, leave a transaction open or its autocommit off, or change
its settings: the role, the search path, a time-out. How its unit of work ends must not
depend on that. A session that shows that it was broken is replaced before it is used
again; one whose settings were changed shows it by an error, and is replaced then. After
code that failed, the runtime replaces it in any case: what that code has set would make
the next messages fail.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from django.db import Error as DatabaseError
from django.db import connection
from psycopg import Error
from psycopg.pq import TransactionStatus

from broker.errors.units_of_work import TransactionLeftOpen
from broker.sql.lines import database

Result = TypeVar("Result")


def has_transaction() -> bool:
    """Whether the next statement is part of a transaction; no round trip."""
    django = database()
    line = django.connection
    return django.in_atomic_block or (
        line is not None
        and not line.closed
        and not (
            django.autocommit
            and line.autocommit
            and line.pgconn.transaction_status == TransactionStatus.IDLE
        )
    )


def is_gone() -> bool:
    """Whether the session has ended, as far as this process knows."""
    line = database().connection
    return line is not None and bool(line.closed)


def drop() -> None:
    """End the session, with each transaction and all that was set in it. The next
    statement begins another one."""
    line = connection.connection
    if line is not None:
        with suppress(Error):
            line.close()  # closed first, as Django may return it to a pool unchanged
    # A block that foreign code has left open must not outlive its session.
    connection.in_atomic_block = connection.closed_in_transaction = False
    connection.close()


def renew() -> None:
    """End a session that is gone, if it has no transaction of the caller."""
    if is_gone() and not has_transaction():
        drop()


def insist(call: Callable[[], Result]) -> Result:
    """Call a function that ends a unit of work; if the session makes it fail, again on
    a new one.

    In a transaction of the caller, it is called once: only the caller can end that.
    """
    lent = Lent.now()
    lent.take_back()
    try:
        return call()
    except DatabaseError:
        if not lent.was_free:
            raise
    drop()
    return call()


@dataclass(slots=True)
class Lent:
    """The session that foreign code is about to use.

    It is replaced only if it had no transaction before: one around the foreign code is
    that of its caller, who ends it.
    """

    was_free: bool
    is_used: bool = True  # False: no statement ran while it was ``watched``

    @classmethod
    def now(cls) -> Self:
        return cls(not has_transaction())

    def check(self) -> None:
        """See what is left of it after code that did not fail.

        Raises:
            TransactionLeftOpen: its work is not committed.
        """
        if self.was_free:
            if has_transaction():
                raise TransactionLeftOpen
            if is_gone():
                drop()

    def take_back(self) -> None:
        """Replace the session if it has ended, or has an open transaction."""
        if self.was_free and (is_gone() or has_transaction()):
            drop()

    def drop(self) -> None:
        """Replace it, whatever it shows, unless it was not used: a new one takes
        milliseconds."""
        if self.was_free and (self.is_used or is_gone() or has_transaction()):
            drop()

    def watch(self, call: Callable[[], object]) -> None:
        """Call foreign code, and see whether Django runs a statement meanwhile.

        No context manager: a generator sets the ``__traceback__`` of what is raised.
        """
        self.is_used = False
        wrappers = database().execute_wrappers
        wrappers.append(self.note)
        try:
            call()
        finally:
            wrappers.remove(self.note)

    def note(self, execute: Callable[..., Any], *statement: Any) -> Any:
        self.is_used = True
        return execute(*statement)
