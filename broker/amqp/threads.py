"""Threads for the database, so that the event loop waits for no statement.

Each thread has a Django connection of its own. An error of the database closes it, and
the next call opens another.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
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

IDLE_S = 1.0  # a connection that was idle for longer is looked at before its use
WAITS_S = (0.05, 0.25, 1.0)  # between attempts while the database is away
# The server itself says that it did not do it: connection exceptions, too few
# resources, operator intervention, a standby, deadlocks and timeouts of locks.
NOTHING_DONE = ("08", "53", "57P", "25006", "40", "55P03")


class DatabaseAway(Exception):
    """The database cannot be reached; nothing was done."""


class Pool:
    """A number of threads that run what the event loop gives them, in its order."""

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

        The future has its result or exception; ``DatabaseAway`` where the database
        could not be reached at all.
        """
        future: asyncio.Future[Result] = self.loop.create_future()
        self.calls.put(partial(self.answer, future, partial(function, *args, **kw)))
        return future

    def answer(
        self, future: asyncio.Future[Result], function: Callable[[], Result]
    ) -> None:
        try:
            done: Result | BaseException = with_connection(function)
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            done = error
        try:
            self.loop.call_soon_threadsafe(tell, future, done)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    def work(self) -> None:
        try:
            while (call := self.calls.get()) is not None:
                call()
        finally:
            connection.close()

    def close(self) -> None:
        """Finish what was given, and end the threads; blocks until they have."""
        for _ in self.threads:
            self.calls.put(None)
        for thread in self.threads:
            thread.join()


def tell(future: asyncio.Future[Any], done: object) -> None:
    if future.done():  # cancelled: nobody waits for it
        return
    if isinstance(done, BaseException):
        future.set_exception(done)
    else:
        future.set_result(done)


_last_use = threading.local()


def with_connection(function: Callable[[], Result]) -> Result:
    """Run a function on this thread's connection, which is open when it begins.

    Raises:
        DatabaseAway: it cannot be opened; the function was not run.
        Exception: the function's own. After one of the database's the connection is
            closed.
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
    """Whether an error of the database says that nothing was done, and why is passing.

    Where a connection was lost in the midst of a statement, nobody knows.
    """
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return isinstance(error, DatabaseError) and state.startswith(NOTHING_DONE)


def is_in_doubt(error: object) -> bool:
    """Whether a connection was lost before the server said if it had done it."""
    return (
        isinstance(error, DatabaseError)
        and getattr(error.__cause__, "sqlstate", None) is None
    )


def is_lost() -> bool:
    """Whether this thread's connection has ended, so that nothing can be done by it."""
    line = connection.connection
    return line is None or line.closed


@dataclass(slots=True)
class PendingBatch(Generic[Item, Result]):
    """Items that travel with the next transaction, or the one after."""

    items: Sequence[Item]
    done: Callable[[list[tuple[Item, Result | Exception]]], None]
    size: int
    since_s: float


class Batches(Generic[Item, Result]):
    """Group commit: whoever arrives while one transaction runs travels in the next.

    There is no timer: alone, an item goes at once. Items go in the order in which they
    were added, in a thread that is theirs. While the database is away they wait, in
    this order.
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
        """Begin, with a thread.

        Args:
            loop: whose thread calls ``add``, and where callers are told.
            name: of the thread.
            run: does all items in the thread, and returns what became of each, in
                their order; a ``DatabaseAway`` among these is tried again. If it raises
                one, all are; if it raises another, that is what became of each.
            most_items: in one transaction.
            most_bytes: in one transaction, if it is of more than one item.
            patience_s: how long an item waits for a database that is away. None is for
                ever; then ``run`` is also called again with items of which nobody knows
                if they were done.
        """
        self.loop = loop
        self.run = run
        self.most_items = most_items
        self.most_bytes = most_bytes
        self.patience_s = patience_s
        self.pool = Pool(loop, name, threads=1)
        self.waiting: deque[PendingBatch[Item, Result]] = deque()
        self.waiting_items = 0  # with those that are being done
        self.waiting_bytes = 0
        self.away = False  # the database; who grants credit stops
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
        """Give items to the next batch, all to the same; for the loop's thread.

        Args:
            items: what is to be done.
            done: called in the loop's thread with each item and what became of it;
                once, or again for those that had to be tried again. An error of the
                database there means that nobody knows; ``DatabaseAway``, that nothing
                was done.
            size: of all of them, in bytes.
        """
        self.waiting.append(PendingBatch(items, done, size, self.loop.time()))
        self.waiting_items += len(items)
        self.waiting_bytes += size
        self.idle.clear()
        if not self.is_running:
            self.is_running = True
            self.loop.call_soon(self.start)  # what the same packet brings goes with it

    async def drain(self) -> None:
        """Wait until nothing waits any more."""
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
        """Tell what became of items; those that are to be tried again are left."""
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
        except Exception:  # the others have to be told, too
            logger.exception("What became of an item could not be told.")
        if again:
            return replace(one, items=again)
        self.waiting_bytes -= one.size
        return None

    def is_passing(self, result: Exception, one: PendingBatch[Item, Result]) -> bool:
        """Whether to try again."""
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
