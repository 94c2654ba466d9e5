"""Threads for asynchronous code, which all event loops of this process share.

They begin at the first call, and anew after a fork. They end at the interpreter's exit,
and when Django creates or drops a database of tests, for which nobody may be connected.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import Error as DatabaseError
from django.db import OperationalError
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.signals import connection_created

from broker.sql.threads import DatabaseAway, Pool

SomePool = TypeVar("SomePool", bound=Pool)
Result = TypeVar("Result")

ENDS_WITHIN_S = 5.0  # a thread that still works at the exit is left behind
RESTS_AFTER_S = 10.0  # a thread that has nothing to do for so long has no connection
THREADS = 4  # of consumer loops and units of work, however many these are


class SharedPool(Generic[SomePool]):
    """A pool that is there when it is used."""

    def __init__(self, begin: Callable[[], SomePool]) -> None:
        self.begin = begin
        self.forget()
        SHARED.append(self)

    def forget(self) -> None:
        """Have no threads, as in a child process after a fork."""
        self.lock = threading.Lock()
        self.pool: SomePool | None = None

    def use(self, call: Callable[[SomePool], Result]) -> Result:
        """Give the pool a call; what it was given before it ends is carried out."""
        with self.lock:
            if self.pool is None:
                self.pool = self.begin()
            return call(self.pool)

    def close(self, within_s: float | None) -> None:
        with self.lock:
            pool, self.pool = self.pool, None
        if pool is not None:
            pool.close(within_s)


SHARED: list[SharedPool[Any]] = []


def close(within_s: float | None = None) -> None:
    """End all threads; blocks until they have done what they were given, but for each
    no longer than ``within_s``."""
    for one in SHARED:
        one.close(within_s)


def close_for_databases(*, connection: Any, **_: object) -> None:
    if connection.alias == NO_DB_ALIAS:
        close()


def forget() -> None:
    for one in SHARED:
        one.forget()


def error_of_django(error: Exception) -> Exception:
    """An error of the database as Django has it; a new one, as others may get the same.
    Any other error as it is."""
    if isinstance(error, DatabaseAway):
        return OperationalError(str(error))
    if isinstance(error, DatabaseError):
        mine = type(error)(*error.args)
        mine.__cause__ = error.__cause__
        return mine
    return error


def new_pool() -> Pool:
    return Pool("backout", threads=THREADS, rests_after_s=RESTS_AFTER_S)


STATEMENTS: SharedPool[Pool] = SharedPool(new_pool)

atexit.register(close, ENDS_WITHIN_S)
connection_created.connect(close_for_databases)
os.register_at_fork(after_in_child=forget)
