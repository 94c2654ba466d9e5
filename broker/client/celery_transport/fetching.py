"""The thread that gets tasks for the consumers of one connection.

It gets as many as their channels may have unacknowledged, and some more ahead of a
worker that ends them quickly (``read_ahead``). It looks when a put is announced, when a
delayed task falls due, when a task was acknowledged, and once in ``POLL_S``. When the
process dies, its lock in the database is free, and its tasks are redelivered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import Error as DatabaseError
from django.db import connection

from broker.client.celery_transport.read_ahead import ReadAhead
from broker.client.celery_transport.settling import Settler
from broker.errors import BrokerError, LockLost, NoSuchQueue
from broker.models import Queue
from broker.queueing import delayed, notifications, processes
from broker.queueing.get import Delivery
from broker.queueing.low_watermarks import FLOORS
from broker.settlement.outcomes import Release
from broker.sql.waits import Waits
from broker.transactions.prefetch import Prefetched

if TYPE_CHECKING:
    from broker.client.celery_transport.channel import Channel

logger = logging.getLogger(__name__)

KIND = "celery"  # kind of the owner that a process of Celery is
MOST = 200  # most unacknowledged tasks of a channel without a limit
AWAY_S = 1.0  # longest wait after an error of the database
# Delay of a get while few tasks may be got, so that one get takes several tasks.
TOGETHER_S = 0.002
# Functions that start what must run beside the consumers of a worker, in order. They
# are called for each consumer, and start it once for each process.
HOUSEKEEPERS: list[Callable[[], object]] = []
WAITS = "Tasks wait for the database: %s"


@dataclass(eq=False)
class TaskConsumer:
    """A consumer of one queue. ``deliver`` is called in the thread that calls
    ``drain_events``."""

    tag: str
    queue: Queue
    channel: Channel
    deliver: Callable[[TaskConsumer, Delivery], None]
    no_ack: bool
    prefetched: Prefetched = field(init=False)
    seen: int = -1  # version of the queue at the last get
    # Monotonic time of the next get, if no message is announced before.
    look_at: float = 0.0
    ahead: ReadAhead = field(default_factory=ReadAhead)

    def __post_init__(self) -> None:
        self.prefetched = Prefetched(self.queue)

    @property
    def room(self) -> int:
        """How many tasks to get now, at most."""
        if self.no_ack:
            return MOST - self.channel.unread
        return (self.channel.prefetch_count or MOST) - self.channel.in_hand

    @property
    def prefetch_limit(self) -> int:
        """How many tasks to get ahead, in addition to ``room``."""
        is_limited = not self.no_ack and self.channel.prefetch_count
        return max(self.ahead.wanted - len(self.ahead.stock), 0) if is_limited else 0

    @property
    def is_due(self) -> bool:
        """Whether there may be something on the queue."""
        version = notifications.version(self.queue.pk)
        return version != self.seen or time.monotonic() >= self.look_at


class Fetcher:
    """The consumers of one connection, and what they got."""

    def __init__(self, settling: Settler, wake: Callable[[], None]) -> None:
        self.settling = settling
        self.wake = wake  # called when ``inbox`` is no longer empty
        self.changed = threading.Condition()
        self.consumers: deque[TaskConsumer] = deque()
        self.inbox: deque[tuple[TaskConsumer, Delivery]] = deque()
        self.ending: deque[Prefetched] = deque()
        self.is_poked = False
        self.alive_at = 0.0
        self.owner: int | None = None  # owner id of this process in the database
        self.thread: threading.Thread | None = None

    def add(self, consumer: TaskConsumer) -> None:
        if consumer.queue.kind != Queue.Kind.TEMPORARY:  # the consumer of a worker
            for each in HOUSEKEEPERS:
                each()
        with self.changed:
            self.consumers.append(consumer)
            self.start()
        self.poke()

    def start(self) -> None:
        if self.thread is None:
            notifications.here().subscribe(self.heard)
            self.thread = threading.Thread(
                target=self.run, name="celery-fetching", daemon=True
            )
            self.thread.start()

    def remove(self, consumer: TaskConsumer) -> None:
        """Get no more for a consumer, and release what it was not given yet."""
        with self.changed:
            if consumer in self.consumers:
                self.consumers.remove(consumer)
            unread = [one for one in self.inbox if one[0] is consumer]
            for one in unread:
                self.inbox.remove(one)
            consumer.channel.unread -= len(unread)
            left = consumer.ahead.empty()
        for delivery in [*(one for _, one in unread), *left]:
            self.settling.add(delivery, Release())

    def end(self, prefetched: Iterable[Prefetched]) -> None:
        """Release all deliveries that are still prefetched, and end their units of
        work."""
        with self.changed:
            self.ending.extend(prefetched)
            self.start()
        self.poke()

    def poke(self) -> None:
        """Look again: there may be room or a message."""
        with self.changed:
            self.is_poked = True
            self.changed.notify_all()

    def go_on(self) -> None:
        """The worker has ended a task: give it the next one, and get more if few are
        left."""
        with self.changed:
            for one in self.consumers:
                self.give(one)
            if any(one.ahead.is_low and one.is_due for one in self.consumers):
                self.poke()

    def heard(self, queue_ids: list[int]) -> None:
        if any(one.queue.pk in queue_ids for one in list(self.consumers)):
            self.poke()

    def take(self, timeout_s: float | None) -> tuple[TaskConsumer, Delivery] | None:
        """The next delivery; None if there is none in time."""
        with self.changed:
            if not self.inbox and timeout_s != 0:
                self.changed.wait_for(lambda: self.inbox, timeout_s)
            if not self.inbox:
                return None
            consumer, delivery = self.inbox.popleft()
            return consumer, delivery

    def stop(self) -> None:
        """Wait a little until all is released; if the database is away, the thread goes
        on until it is."""
        thread = self.thread
        self.poke()
        if thread is not None:
            thread.join(AWAY_S)

    def run(self) -> None:
        waits = Waits(AWAY_S)
        while self.goes_on():
            try:
                self.stay_alive()
                self.end_next()
                self.release_idle()
                if not self.look():
                    self.rest()
            except DatabaseError as error:
                logger.warning(WAITS, error)
                connection.close()
                FLOORS.forget()
                self.alive_at = 0.0
                time.sleep(waits.next_s())
            except BrokerError as error:
                logger.warning("Tasks wait: %s", error)
                time.sleep(AWAY_S)
            # If this thread ended, the worker would get no more tasks.
            except Exception:
                logger.exception("Tasks wait.")
                time.sleep(AWAY_S)
        connection.close()

    def goes_on(self) -> bool:
        """Whether there is something to do; if not, the thread ends."""
        with self.changed:
            if self.consumers or self.ending:
                return True
            notifications.here().unsubscribe(self.heard)
            self.thread = None
            return False

    def stay_alive(self) -> None:
        """Prove that this process runs. If it counts as dead, register it again, and
        get with other units of work: those it has are backed out soon."""
        now = time.monotonic()
        if now - self.alive_at >= processes.HEARTBEAT_S:
            self.alive_at = now
            processes.current(KIND)
            processes.renew(KIND)
            owner = processes.current(KIND)
            if self.owner not in (None, owner):
                for consumer in list(self.consumers):
                    self.begin_again(consumer)
            self.owner = owner

    def end_next(self) -> None:
        while self.ending:
            with suppress(LockLost):
                self.ending[0].end()
            self.ending.popleft()

    def release_idle(self) -> None:
        """Release tasks that were got ahead, if the worker does not need them any
        more."""
        for consumer in list(self.consumers):
            with self.changed:
                ahead = consumer.ahead
                if not ahead.stock or time.monotonic() < ahead.idle_at:
                    continue
                left = ahead.empty()
            try:
                consumer.prefetched.give_back(left)
            except LockLost:
                self.begin_again(consumer)

    def look(self) -> int:
        """Get what there is room for; return the number of entries."""
        count = 0
        for consumer in list(self.consumers):
            if not consumer.is_due or not consumer.ahead.is_low:
                continue
            room = consumer.room
            if room > 0 and 2 * room < consumer.channel.prefetch_count:
                time.sleep(TOGETHER_S)
                room = consumer.room
            if room > 0 or consumer.ahead.wanted:
                consumer.ahead.measure(time.monotonic())
                limit = max(room, 0) + consumer.prefetch_limit
                count += self.fetch(consumer, min(limit, MOST)) if limit else 0
        with self.changed:
            self.consumers.rotate(-1)
        return count

    def fetch(self, consumer: TaskConsumer, limit: int) -> int:
        consumer.seen = notifications.version(consumer.queue.pk)
        try:
            got = consumer.prefetched.get(limit)
        except LockLost:  # this process counted as dead for a while
            self.begin_again(consumer)
            return 1
        except NoSuchQueue:
            self.find_again(consumer)
            return 0
        if len(got) < limit:
            consumer.look_at = time.monotonic() + until_due_s(consumer.queue)
        else:
            consumer.look_at = 0.0
        self.hand_over(consumer, got)
        return len(got)

    def begin_again(self, consumer: TaskConsumer) -> None:
        """Begin another unit of work; all tasks that the last one held are
        redelivered."""
        with self.changed:
            consumer.ahead.empty()
            consumer.prefetched = Prefetched(consumer.queue)

    def find_again(self, consumer: TaskConsumer) -> None:
        """Look for another queue of the same name, as the consumer's queue is gone."""
        consumer.look_at = time.monotonic() + notifications.POLL_S
        # While this lock is held, nobody can cancel the consumer and delete its queue.
        with self.changed:
            if consumer in self.consumers:
                queue = consumer.channel.declare_again(consumer.queue)
                if queue is not None:
                    consumer.queue = queue
                    self.begin_again(consumer)

    def hand_over(self, consumer: TaskConsumer, got: list[Delivery]) -> None:
        with self.changed:
            is_wanted = consumer in self.consumers
            if is_wanted:
                consumer.ahead.stock.extend(got)
                self.give(consumer)
        if not is_wanted:
            consumer.prefetched.give_back(got)

    def give(self, consumer: TaskConsumer) -> None:
        """Give tasks from the stock to the thread that calls ``drain_events``, as far
        as there is room. The caller holds ``changed``."""
        room = consumer.room if consumer.ahead.stock else 0
        if room > 0:
            some = consumer.ahead.next(room, time.monotonic())
            was_empty = not self.inbox
            consumer.channel.unread += len(some)
            self.inbox.extend((consumer, one) for one in some)
            self.changed.notify_all()
            if was_empty:
                self.wake()

    def rest(self) -> None:
        """Wait until something may be there and there is room for it; without a
        consumer there is nothing to wait for."""
        now = time.monotonic()
        with self.changed:
            moments = [one.look_at for one in self.consumers if one.room > 0]
            moments += [one.ahead.idle_at for one in self.consumers if one.ahead.stock]
            moments.append(self.alive_at + processes.HEARTBEAT_S)
            left_s = min(moments) - now
            if left_s > 0 and self.consumers and not self.ending:
                self.changed.wait_for(lambda: self.is_poked, left_s)
            self.is_poked = False


def until_due_s(queue: Queue) -> float:
    """Seconds until the next look at an empty queue, if nothing is announced."""
    if queue.kind == Queue.Kind.TEMPORARY:
        return notifications.POLL_S
    return min(notifications.POLL_S, delayed.until_due_s(queue.name))
