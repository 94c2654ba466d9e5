"""Server sessions of a handler that is a coroutine function: tasks of an event loop.

One thread, ``AsyncServer``, gets messages for the tasks that are free. Each message has
a task and a unit of work of its own (``AsyncSession``); the statement that accepts it,
with others that end at the same time, gets the next message of the task. So nothing is
held that no task works on. A task does what a thread of ``ServerSession`` does, only
that it waits for the database in another thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django.db import Error as DatabaseError
from django.db import connection

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.event_loop import EventLoop, renew_orm
from broker.client.dispatch.server_session import Got, ServerSession
from broker.errors.queues import NotAuthorized
from broker.formats.exceptions import text_of
from broker.monitoring import logs
from broker.queueing import notifications
from broker.queueing.get import Delivery
from broker.queueing.low_watermarks import FLOORS
from broker.transactions import session
from broker.transactions.group_commit import GroupCommit
from broker.transactions.scope import UnitOfWork, back_out_unless_lost

logger = logging.getLogger(__name__)

AWAY = "%s waits for the database: %s"
Result = TypeVar("Result")


class Tasks:
    """The tasks of one handler in this process; at most so many at once.

    Args:
        most: that number.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.free = most
        self.changed = threading.Condition()

    def change(self, by: int) -> None:
        """Note that tasks begin (less are free), or end."""
        with self.changed:
            self.free += by
            self.changed.notify_all()

    def wait(self, longest_s: float) -> int:
        """Wait until a task is free; return how many are."""
        with self.changed:
            self.changed.wait_for(lambda: self.free, longest_s)
            return self.free

    def drain(self) -> None:
        """Wait until all have ended."""
        with self.changed:
            self.changed.wait_for(lambda: self.free == self.most)


class AsyncServer(ServerSession):
    """Gets messages of a ConnectionConsumer for tasks, in a thread of the dispatcher.

    Args:
        consumer: the ConnectionConsumer.
        tasks: the tasks of its handler; they may outlive this object.
        loop: the event loop that runs them.
        goes_on: asked after each message: whether another one follows at once.
    """

    def __init__(
        self,
        consumer: ConnectionConsumer,
        tasks: Tasks,
        loop: EventLoop,
        goes_on: Callable[[], bool],
    ) -> None:
        super().__init__(consumer, goes_on)
        self.tasks = tasks
        self.loop = loop
        self.is_open = True
        self.refused: NotAuthorized | None = None  # by a task

    def serve(self) -> int:
        """Get messages for the tasks that are free, once one is; return their number,
        or 1 if none is free.

        Raises:
            NotAuthorized: the queue's attributes may not be read.
            BrokerError, DatabaseError: nothing can be got.
        """
        if self.refused is not None:
            refused, self.refused = self.refused, None
            raise refused
        free = self.tasks.wait(notifications.POLL_S)
        if not free:
            return 1
        with logs.bound(queue=self.consumer.queue.name):
            found = self.got_for(free)
        if found:
            self.tasks.change(-len(found))
            self.loop.begin(AsyncSession(self).run(got) for got in found)
        return len(found)

    def got_for(self, free: int) -> list[Got]:
        """Messages, each for a task; with a selector or a limit, one."""
        if self.search is None and self.group is not None:
            deliveries = self.group.get(free)
            if deliveries is not None:
                return [Got([one]) for one in deliveries]
        got = self.get(UnitOfWork(actor=self.handler.name))
        return [got] if got.deliveries else []

    def wait(self, stopping: threading.Event, seen: int) -> None:
        if self.held_s:  # a task that ends wakes this thread, as it may lift a limit
            queue_id = self.consumer.queue.pk
            notifications.wait(queue_id, seen, longest_s=self.held_s)
        else:
            super().wait(stopping, seen)

    def close(self) -> None:
        """Let tasks end after their current message."""
        self.is_open = False

    def has_more(self) -> bool:
        """Whether a task goes on with the next message."""
        return self.is_open and self.goes_on()


class AsyncSession(ServerSession):
    """One task: it handles a message, and those that the ends of its units of work
    get.

    Args:
        server: what has got the first message.
    """

    def __init__(self, server: AsyncServer) -> None:
        super().__init__(server.consumer, server.has_more)
        self.server = server
        self.loop = server.loop
        # Whether the end of this round has looked for more messages; then a round
        # without any need wake nobody.
        self.has_looked = False
        self.is_away = False  # whether the database could not be used in this round

    @property
    def group(self) -> GroupCommit | None:
        return self.consumer.group

    async def run(self, got: Got) -> None:
        """Handle a message, and all that follow."""
        try:
            while got.deliveries and self.server.goes_on():
                await self.serve_message(got)
                got = Got(self.following)
            self.following = got.deliveries
            if self.following:
                await self.in_thread(self.close)
        except Exception:  # their units of work end at their deadlines
            logger.exception("%s: a task has failed.", self.handler.queue)
        finally:
            self.server.tasks.change(1)
            if not self.has_looked:
                notifications.wake(self.consumer.queue.pk)

    async def serve_message(self, got: Got) -> None:
        """Run one round. If it fails, connections of Django's asynchronous methods are
        replaced where they were lost."""
        with logs.bound(queue=self.consumer.queue.name):
            try:
                self.server.refused = await self.work_on(got) or self.server.refused
            except BaseException as error:  # noqa: BLE001  # as in ``serve_round``
                if not self.note_end(error):
                    logger.warning(AWAY, self.handler.queue, text_of(error))
                await renew_orm()

    async def work_on(self, got: Got) -> NotAuthorized | None:
        """Handle a message in its unit of work, as ``work_round`` does."""
        self.got, self.has_looked, self.is_away = got, False, False
        work = UnitOfWork(actor=self.handler.name)
        work.note(got.deliveries)
        self.note_busy(1)
        try:
            with self.spans:
                try:
                    refused = await self.hand_over(got, work)
                except BaseException as error:
                    if not work.ended:
                        await self.in_thread(partial(back_out_unless_lost, work, error))
                    raise
                if not work.ended:
                    await self.commit(work)
                return refused
        finally:
            self.note_busy(-1)
            self.following = work.following

    async def hand_over(self, got: Got, work: UnitOfWork) -> NotAuthorized | None:
        """As ``hand_out``."""
        if not self.is_plain(got):
            fit, refused = await self.in_thread(partial(self.sort_out, got, work))
            if not fit:
                return refused
        for delivery in got.deliveries:
            self.bind_log(delivery)
            await self.call_in_loop(delivery, work)
        self.go_on(work)
        return None

    def is_plain(self, got: Got) -> bool:
        """Whether it is known without the database that a message can be delivered."""
        is_known = self.consumer.known is not None
        if is_known or not any(one.backout_count for one in got.deliveries):
            return not self.sift(got)
        return False

    async def call_in_loop(self, delivery: Delivery, work: UnitOfWork) -> None:
        try:
            with self.spans.around(delivery):
                await self.consumer.handle(delivery, work)
        except BaseException:
            self.go_on(work)
            raise

    async def commit(self, work: UnitOfWork) -> None:
        """Accept with others, by the group, if nothing else belongs to it."""
        if work.only_accepts() and work.id is not None and self.group is not None:
            work.check_open()
            gets = work.then is not None
            answer = await self.loop.answer_of(
                self.group, work.id, work.held, gets=gets
            )
            if answer.in_doubt is not None:  # that is to be found out
                await self.in_thread(partial(work.heed, answer))
            elif work.heed(answer):
                self.has_looked = gets
                return
        await self.in_thread(work.commit)

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        return await self.loop.in_thread(partial(self.called, call))

    def called(self, call: Callable[[], Result]) -> Result:
        """Call a function in a thread, whose session is renewed if it was lost."""
        try:
            return call()
        except DatabaseError:
            self.is_away = not connection.is_usable()
            if self.is_away:
                session.drop()
                FLOORS.forget()
            raise

    def is_cut_off(self) -> bool:
        return self.is_away
