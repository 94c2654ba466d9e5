"""Group commit for one event loop: items that wait share the next transaction."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Generic, TypeVar

from broker.sql.threads import DatabaseAway, Pool, is_in_doubt

Item = TypeVar("Item")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)

WAITS_S = (0.05, 0.25, 1.0)  # seconds between attempts while the database is away


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
        self.pool = Pool(name, threads=1)
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
