"""The dispatcher: threads that wait for messages and run server sessions.

A handler that is a coroutine function has one thread, which gets messages for its tasks
(``async_session``); all such handlers share one event loop.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress

from django.db import Error as DatabaseError
from django.db import connection

from broker.client.dispatch.async_session import AsyncServer, Tasks
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.event_loop import EventLoop
from broker.client.dispatch.handlers import Handler
from broker.client.dispatch.server_session import ServerSession
from broker.errors import BrokerError, NoSuchQueue
from broker.errors.queues import DeliveryStopped
from broker.formats.exceptions import text_of
from broker.queueing import notifications, processes
from broker.queueing.low_watermarks import FLOORS
from broker.sql.waits import Waits
from broker.transactions import session

logger = logging.getLogger(__name__)

AWAY_S = 1.0  # longest delay after an error of the database or broker
NOTE_BUSY = """
WITH noted AS (
    UPDATE broker_connectionconsumer AS consumer SET busy_percent = now.percent
    FROM unnest(%(ids)s::bigint[], %(percents)s::smallint[]) AS now (id, percent)
    WHERE consumer.id = now.id RETURNING 1
) SELECT count(*) FROM noted"""


class Pool:
    """A handler's ConnectionConsumer, replaced when it is no longer open."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.lock = threading.Lock()
        self.consumer: ConnectionConsumer | None = None
        self.tasks = Tasks(handler.concurrency) if handler.is_async else None

    def open_consumer(self) -> ConnectionConsumer:
        """The open ConnectionConsumer, shared by its sessions.

        Raises:
            BrokerError: it cannot be opened now.
        """
        with self.lock:
            before = self.consumer
            if before is None or not before.is_open():
                self.consumer = ConnectionConsumer.open(self.handler)
                if before is not None:
                    before.close()
            assert self.consumer is not None
            return self.consumer

    def threads(self) -> int:
        """The number of threads that serve the handler."""
        return self.handler.concurrency if self.tasks is None else 1

    def drain(self) -> None:
        """Wait until its tasks have ended."""
        if self.tasks is not None:
            self.tasks.drain()

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.close()


class Dispatcher:
    """Threads that run handlers until they are told to stop."""

    def __init__(self, handlers: Iterable[Handler]) -> None:
        self.stopping = threading.Event()
        self.heartbeat = processes.Heartbeat("dispatcher", self.note_busy)
        self.noted: dict[int, int] = {}  # ``busy_percent`` in the rows, by their ids
        self.pools = [Pool(handler) for handler in handlers]
        self.threads = [
            threading.Thread(target=self.run, args=[pool], name=pool.handler.queue)
            for pool in self.pools
            for _ in range(pool.threads())
        ]
        self.loop: EventLoop | None = None
        if any(pool.tasks for pool in self.pools):
            self.loop = EventLoop()

    def start(self) -> None:
        self.heartbeat.start()
        if self.loop is not None:
            self.loop.start()
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Stop after each handler has finished its current unit of work."""
        self.stopping.set()
        notifications.wake_all()
        for thread in self.threads:
            thread.join()
        if self.loop is not None:
            self.loop.stop()
        # On failure, other processes release what it holds.
        with suppress(DatabaseError):
            for pool in self.pools:
                pool.close()
        self.heartbeat.stop()

    def goes_on(self) -> bool:
        return not self.stopping.is_set()

    def note_busy(self, now_s: float | None = None) -> None:
        """Write how busy each ConnectionConsumer is, where that has changed.

        Args:
            now_s: the current time, for tests; this machine's clock when not given.
        """
        at_s = time.monotonic() if now_s is None else now_s
        open_now = [pool.consumer for pool in self.pools if pool.consumer is not None]
        shares = {one.row_id: one.busy.percent(at_s) for one in open_now}
        known = {key: share for key, share in shares.items() if share is not None}
        changed = dict(known.items() - self.noted.items())
        if changed:
            both = {"ids": list(changed), "percents": list(changed.values())}
            processes.ask(NOTE_BUSY, both)
            self.noted = known

    def run(self, pool: Pool) -> None:
        """Run one handler until the dispatcher stops; continue after the database was
        away."""
        queue, waits = pool.handler.queue, Waits(AWAY_S)
        while self.goes_on():
            try:
                self.feed(pool)
            except DatabaseError as error:
                why = text_of(error)
                logger.warning("%s waits for the database: %s", queue, why)
                session.drop()
                FLOORS.forget()
                self.stopping.wait(waits.next_s())
            # The queue may be created, or started.
            except (NoSuchQueue, DeliveryStopped):
                self.stopping.wait(notifications.POLL_S)
            except BrokerError as error:
                logger.warning("%s waits: %s", queue, error)
                self.stopping.wait(AWAY_S)
            except Exception:  # for example, a middleware cannot be imported
                logger.exception("%s waits.", queue)
                self.stopping.wait(AWAY_S)
        pool.drain()
        connection.close()

    def feed(self, pool: Pool) -> None:
        """Open the ConnectionConsumer and serve it with this thread.

        Raises:
            BrokerError: the ConnectionConsumer cannot be opened, or cannot go on.
        """
        consumer = pool.open_consumer()
        with closing(self.server_of(consumer, pool.tasks)) as server:
            self.serve(server, consumer)

    def server_of(
        self, consumer: ConnectionConsumer, tasks: Tasks | None
    ) -> ServerSession:
        if tasks is None or self.loop is None:
            return ServerSession(consumer, self.goes_on)
        return AsyncServer(consumer, tasks, self.loop, self.goes_on)

    def serve(self, server: ServerSession, consumer: ConnectionConsumer) -> None:
        """Handle messages while there are any, then wait for more, until stopping or
        until the ConnectionConsumer is no longer open."""
        looked_at = time.monotonic()
        while self.goes_on():
            if not server.following:
                server.following = server.lookout.take()
            if server.following:
                server.serve()
                if time.monotonic() - looked_at < notifications.POLL_S:
                    continue
                looked_at = time.monotonic()
                is_open = consumer.is_open()
            else:
                is_open = self.look(server, consumer)
            if not is_open:
                return

    def look(self, server: ServerSession, consumer: ConnectionConsumer) -> bool:
        """Be on the lookout until a message was found, and handle it; return whether
        the ConnectionConsumer is open."""
        lookout, queue_id = server.lookout, consumer.queue.pk
        server.is_on_lookout = True
        try:
            while self.goes_on():
                if (left_s := lookout.left_s()) > 0:
                    notifications.wait(queue_id, lookout.seen, longest_s=left_s)
                    continue
                seen = notifications.version(queue_id)
                if server.serve():
                    return True
                if not consumer.is_open():
                    return False
                server.wait(self.stopping, seen)
            return True
        finally:
            server.leave_lookout()
