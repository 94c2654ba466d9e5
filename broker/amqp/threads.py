"""Threads for database calls, so that the event loop never blocks on a statement.

Each thread has its own Django connection. A database error closes it; the next call
opens a new one.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, Generic, ParamSpec, TypeVar

from django.db import Error as DatabaseError
from django.db import connection

Item = TypeVar("Item")
Result = TypeVar("Result")
Asked = ParamSpec("Asked")

logger = logging.getLogger(__name__)

IDLE_S = 1.0  # a connection idle for longer is tested before its use
WAITS_S = (0.05, 0.25, 1.0)  # seconds between attempts while the database is away
# SQLSTATEs by which the server says that nothing was done: connection exceptions, too
# few resources, operator intervention, a standby, deadlocks, lock time-outs.
NOTHING_DONE = ("08", "53", "57P", "25006", "40", "55P03")


class DatabaseAway(Exception):
    """The database cannot be reached; nothing was done."""


class Pool:
    """Threads that run calls from the event loop, in order."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, name: str, *, threads: int
    ) -> None:
        self.loop = loop
        self.calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.threads = [
            threading.Thread(target=self.work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def run(
        self, function: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> asyncio.Future[Result]:
        """Run a function in one of the threads; for the loop's thread.

        The future gets its result or exception; ``DatabaseAway`` if the database could
        not be reached at all.
        """
        future: asyncio.Future[Result] = self.loop.create_future()
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
            self.loop.call_soon_threadsafe(tell, future, done)
        except RuntimeError:  # the loop is closed
            return

    def work(self) -> None:
        try:
            while (call := self.calls.get()) is not None:
                call()
        finally:
            connection.close()

    def close(self) -> None:
        """Finish the calls, and end the threads; blocks until they have ended."""
        for _ in self.threads:
            self.calls.put(None)
        for thread in self.threads:
            thread.join()


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


@dataclass(slots=True)
class PendingBatch(Generic[Item, Result]):
    """Items that wait for one of the next transactions."""

    items: Sequence[Item]
    done: Callable[[list[tuple[Item, Result | Exception]]], None]
    size: int
    since_s: float


class Batches(Generic[Item, Result]):
    """Group commit: items added while a transaction runs share the next transaction.

    There is no timer: a single item is run at once. Items run in the order of ``add``,
    in a thread of their own. While the database is away they wait, in this order.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        run: Callable[[list[Item]], Sequence[Result | Exception]],
        *,
        most_items: int,
        most_bytes: int,
        patience_s: float | None = 10.0,
    ) -> None:
        """Start the thread.

        Args:
            loop: the event loop, whose thread calls ``add`` and runs ``done``.
            name: the name of the thread.
            run: runs items in the thread, and returns the result of each, in order. An
                item with the result ``DatabaseAway`` is tried again. An exception that
                it raises counts as the result of each.
            most_items: limit of items in one transaction.
            most_bytes: limit of bytes in one transaction of more than one item.
            patience_s: how long an item waits while the database is away. None: for
                ever; then items in doubt are run again, too.
        """
        self.loop = loop
        self.run = run
        self.most_items = most_items
        self.most_bytes = most_bytes
        self.patience_s = patience_s
        self.pool = Pool(loop, name, threads=1)
        self.waiting: deque[PendingBatch[Item, Result]] = deque()
        self.waiting_items = 0  # waiting items, including those that run now
        self.waiting_bytes = 0
        self.away = False  # the database is away; give no credit now
        self.attempts = 0
        self.is_running = False
        self.idle = asyncio.Event()
        self.idle.set()

    def add(
        self,
        items: Sequence[Item],
        done: Callable[[list[tuple[Item, Result | Exception]]], None],
        size: int = 0,
    ) -> None:
        """Add items, which stay in one batch; for the loop's thread.

        Args:
            items: the items.
            done: called in the loop's thread with items and their results; again for
                items that were tried again. The result ``DatabaseAway`` means that
                nothing was done, any other database error that it is unknown.
            size: the size of all of them, in bytes.
        """
        self.waiting.append(PendingBatch(items, done, size, self.loop.time()))
        self.waiting_items += len(items)
        self.waiting_bytes += size
        self.idle.clear()
        if not self.is_running:
            self.is_running = True
            self.loop.call_soon(self.start)  # items of the same packet join this batch

    async def drain(self) -> None:
        """Wait until all items are done."""
        await self.idle.wait()

    def close(self) -> None:
        """End the thread; after ``drain``."""
        self.pool.close()

    def start(self) -> None:
        batch: list[PendingBatch[Item, Result]] = []
        items: list[Item] = []
        size = 0
        while self.waiting:
            one = self.waiting[0]
            size += one.size
            is_full = len(items) + len(one.items) > self.most_items
            if batch and (is_full or size > self.most_bytes):
                break
            batch.append(self.waiting.popleft())
            items += one.items
        future = self.pool.run(self.run, items)
        future.add_done_callback(partial(self.finish, batch))

    def finish(
        self,
        batch: list[PendingBatch[Item, Result]],
        future: asyncio.Future[Sequence[Result | Exception]],
    ) -> None:
        if future.cancelled():
            return
        error = future.exception()
        assert error is None or isinstance(error, Exception), "of a statement"
        results = iter(future.result() if error is None else repeat(error))
        again = [left for one in batch if (left := self.tell(one, results))]
        self.waiting.extendleft(reversed(again))
        self.away = bool(again)
        self.attempts = self.attempts + 1 if again else 0
        self.go_on()

    def tell(
        self, one: PendingBatch[Item, Result], results: Iterator[Result | Exception]
    ) -> PendingBatch[Item, Result] | None:
        """Report results of items; return the items to be tried again."""
        told: list[tuple[Item, Result | Exception]] = []
        again: list[Item] = []
        for item, result in zip(one.items, results, strict=False):
            if isinstance(result, Exception) and self.is_passing(result, one):
                again.append(item)
            else:
                told.append((item, result))
        self.waiting_items -= len(told)
        try:
            if told:
                one.done(told)
        except Exception:  # the results of later items must be reported, too
            logger.exception("What became of an item could not be told.")
        if again:
            return replace(one, items=again)
        self.waiting_bytes -= one.size
        return None

    def is_passing(self, result: Exception, one: PendingBatch[Item, Result]) -> bool:
        """Whether an error is temporary, so that its item is tried again."""
        if self.patience_s is None:
            return isinstance(result, DatabaseAway) or is_in_doubt(result)
        waited_s = self.loop.time() - one.since_s
        return isinstance(result, DatabaseAway) and waited_s < self.patience_s

    def go_on(self) -> None:
        if not self.waiting:
            self.is_running = False
            self.idle.set()
        elif self.away:
            wait_s = WAITS_S[min(self.attempts, len(WAITS_S)) - 1]
            self.loop.call_later(wait_s, self.start)
        else:
            self.start()
