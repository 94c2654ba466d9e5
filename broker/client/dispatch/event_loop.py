"""The event loop of a dispatcher: a thread that runs the tasks of all handlers that are
coroutine functions.

The loop never waits for the database. Group commits answer it (``answer_of``), and a
few threads do what else needs the database (``in_thread``).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection, connections

from broker.transactions.group_commit import ALONE, GroupAnswer, GroupCommit, Request

logger = logging.getLogger(__name__)

THREADS = 4  # for units of work that a group commit cannot end
Result = TypeVar("Result")


class EventLoop:
    """An event loop in a thread of its own, and threads for what would block it."""

    loop: asyncio.AbstractEventLoop  # from its start on

    def __init__(self) -> None:
        self.thread = threading.Thread(target=self.run, name="event loop", daemon=True)
        self.ends = ThreadPoolExecutor(THREADS, thread_name_prefix="ends")
        self.stopping = threading.Event()
        # The loop itself holds tasks by weak references only.
        self.running: set[asyncio.Task[None]] = set()
        # Answers on their way from other threads to the tasks of the loop.
        self.answers: deque[tuple[asyncio.Future[GroupAnswer], GroupAnswer]] = deque()
        self.is_called = False  # whether the loop is about to pass them on

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread.start()

    def stop(self) -> None:
        """Stop; the tasks of sessions have ended before. May be called twice."""
        if self.stopping.is_set():
            return
        self.stopping.set()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.close_connections()
        self.ends.shutdown()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            while not self.stopping.is_set():
                try:
                    self.loop.run_forever()
                except BaseException:  # SystemExit of a task that a handler has begun
                    logger.exception("The event loop of handlers goes on.")
            runner.run(in_thread_of_orm(connections.close_all))

    def close_connections(self) -> None:
        """Close the connection of each thread. Each of them has one call, as all calls
        wait for each other."""
        together = threading.Barrier(THREADS)

        def close() -> None:
            connection.close()
            together.wait()

        for _ in range(THREADS):
            self.ends.submit(close)

    def begin(self, tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Begin tasks, from any thread."""
        self.loop.call_soon_threadsafe(self.create, list(tasks))

    def create(self, tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
        for one in tasks:
            self.running.add(task := self.loop.create_task(one))
            task.add_done_callback(self.running.discard)

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        """What a function returns that may wait for the database. It runs in a thread,
        with the context of this task."""
        context = copy_context()
        return await whole(self.loop.run_in_executor(self.ends, context.run, call))

    async def answer_of(
        self, group: GroupCommit, uow: int, held: int, *, gets: int
    ) -> GroupAnswer:
        """As ``GroupCommit.ask``, for a task of this loop."""
        future: asyncio.Future[GroupAnswer] = self.loop.create_future()
        if not group.takes(Request(uow, held, gets, Reply(self, future))):
            return ALONE
        return await whole(future)

    def pass_on(self) -> None:
        """Pass all answers on to their tasks."""
        self.is_called = False  # before the look: an answer after it calls again
        while self.answers:
            future, answer = self.answers.popleft()
            future.set_result(answer)


class Reply:
    """Where a task waits for the answer of a group. All answers that come before the
    loop has looked wake it once."""

    __slots__ = ("future", "loop")

    def __init__(self, loop: EventLoop, future: asyncio.Future[GroupAnswer]) -> None:
        self.loop = loop
        self.future = future

    def put(self, answer: GroupAnswer, /) -> None:
        self.loop.answers.append((self.future, answer))
        if not self.loop.is_called:
            self.loop.is_called = True
            self.loop.loop.call_soon_threadsafe(self.loop.pass_on)


async def whole(future: asyncio.Future[Result]) -> Result:
    """The result of a step that may not be left halfway. A handler may have cancelled
    its task and returned: its unit of work ends all the same."""
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
    return future.result()


async def in_thread_of_orm(call: Callable[[], None]) -> None:
    """Call a function where Django's asynchronous methods use the database: they share
    one thread, and its connections."""
    await sync_to_async(call, thread_sensitive=True)()


async def renew_orm() -> None:
    """Have Django replace connections that were lost, as it does between requests."""
    await in_thread_of_orm(close_old_connections)
