"""Threads for database calls, so that the event loop never blocks on a statement.

Each thread has its own Django connection. A database error closes it; the next call
opens a new one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import Error as DatabaseError
from django.db import connection

Result = TypeVar("Result")
Asked = ParamSpec("Asked")

IDLE_S = 1.0  # a connection idle for longer is tested before its use
# SQLSTATEs by which the server says that nothing was done: connection exceptions, too
# few resources, operator intervention, a standby, deadlocks, lock time-outs.
NOTHING_DONE = ("08", "53", "57P", "25006", "40", "55P03")


class DatabaseAway(Exception):
    """The database cannot be reached; nothing was done."""


class PoolThread(threading.Thread):
    """A thread of the broker's own."""


class Pool:
    """Threads that run calls from event loops, in order.

    Args:
        name: of its threads, which are numbered.
        threads: how many.
        rests_after_s: a thread that had no call for so long closes its connection.
    """

    def __init__(
        self, name: str, *, threads: int, rests_after_s: float | None = None
    ) -> None:
        self.rests_after_s = rests_after_s
        self.calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.threads = [
            PoolThread(target=self.work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def run(
        self, function: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> asyncio.Future[Result]:
        """Run a function in one of the threads; for the thread of an event loop.

        The future gets its result or exception; ``DatabaseAway`` if the database could
        not be reached at all.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        call = partial(copy_context().run, partial(function, *args, **kw))
        self.calls.put(partial(self.answer, future, call))
        return future

    def answer(
        self, future: asyncio.Future[Result], function: Callable[[], Result]
    ) -> None:
        if future.done():  # cancelled: the client has left
            return
        try:
            done: Result | BaseException = with_connection(function)
        except BaseException as error:  # noqa: BLE001 - for the caller
            done = error
        try:
            future.get_loop().call_soon_threadsafe(tell, future, done)
        except RuntimeError:  # the loop is closed
            return

    def work(self) -> None:
        try:
            while (call := self.next_call()) is not None:
                call()
        finally:
            connection.close()

    def next_call(self) -> Callable[[], None] | None:
        try:
            return self.calls.get(timeout=self.rests_after_s)
        except queue.Empty:
            connection.close()
            return self.calls.get()

    def close(self, within_s: float | None = None) -> None:
        """Finish the calls, and end the threads; blocks until they have ended, but for
        each no longer than ``within_s``."""
        for _ in self.threads:
            self.calls.put(None)
        for thread in self.threads:
            thread.join(within_s)


def tell(future: asyncio.Future[Any], done: object) -> None:
    if future.done():  # the caller has cancelled the call
        return
    if isinstance(done, BaseException):
        future.set_exception(done)
    else:
        future.set_result(done)


_last_use = threading.local()


def with_connection(function: Callable[[], Result]) -> Result:
    """Run a function on this thread's connection, opened before if need be.

    Raises:
        DatabaseAway: the connection cannot be opened; the function was not run.
        Exception: the function's own. After a database error the connection is closed.
    """
    idle_s = time.monotonic() - getattr(_last_use, "at", 0.0)
    if idle_s > IDLE_S and connection.connection and not connection.is_usable():
        connection.close()
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        connection.close()
        raise DatabaseAway(str(error).strip()) from error
    try:
        return function()
    except DatabaseError as error:
        connection.close()
        if is_certain(error):
            raise DatabaseAway(str(error).strip()) from error
        raise
    finally:
        _last_use.at = time.monotonic()


def is_certain(error: BaseException) -> bool:
    """Whether a database error is temporary and certainly nothing was done.

    If the connection was lost during a statement, that is not certain.
    """
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return isinstance(error, DatabaseError) and state.startswith(NOTHING_DONE)


def is_in_doubt(error: object) -> bool:
    """Whether the connection was lost before the server reported the result."""
    return (
        isinstance(error, DatabaseError)
        and getattr(error.__cause__, "sqlstate", None) is None
    )


def is_lost() -> bool:
    """Whether this thread's connection has ended."""
    line = connection.connection
    return line is None or line.closed
