"""The loop of a dispatcher: an arrival, a unit of work, the handler, its end."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterable

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection

from broker import arrivals, delays, owner
from broker.errors import BrokerError
from broker.floors import FLOORS
from broker.handlers import Handler
from broker.models import Queue
from broker.unit_of_work import unit_of_work

logger = logging.getLogger(__name__)

AWAY_S = 1.0  # how long a database is left alone that does not answer


class Dispatcher:
    """Threads that run handlers until they are told to stop."""

    def __init__(self, handlers: Iterable[Handler]) -> None:
        self.stopping = threading.Event()
        self.threads = [
            threading.Thread(target=self.run, args=[handler], name=handler.queue)
            for handler in handlers
            for _ in range(handler.concurrency)
        ]

    def start(self) -> None:
        owner.current("dispatcher")
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Let every handler finish what it has begun, and no more."""
        self.stopping.set()
        arrivals.wake_all()
        for thread in self.threads:
            thread.join()
        owner.resign()

    def run(self, handler: Handler) -> None:
        """Consume one queue; outlive a database that goes away for a while."""
        while not self.stopping.is_set():
            try:
                self.consume(handler)
            except DatabaseError as error:
                logger.warning("%s waits for the database: %s", handler.queue, error)
                close_old_connections()
                FLOORS.forget()
                self.stopping.wait(AWAY_S * random.uniform(0.5, 1.5))  # noqa: S311
        connection.close()

    def consume(self, handler: Handler) -> None:
        """Handle messages while there are any, then wait for more, until stopping."""
        queue_id = self.queue_id(handler.queue)
        while not self.stopping.is_set():
            seen = arrivals.version(queue_id)
            if not handle_next(handler) and not self.stopping.is_set():
                arrivals.wait(queue_id, seen, longest_s=until_due_s(handler.queue))

    def queue_id(self, queue: str) -> int:
        """The id of a queue, as soon as it exists; 0 when stopping."""
        while not self.stopping.wait(0):
            found = Queue.objects.filter(name=queue).values_list("pk", flat=True)
            if found:
                return found[0]
            self.stopping.wait(arrivals.POLL_S)
        return 0


def handle_next(handler: Handler) -> int:
    """Run a handler on the next deliveries; return how many there were.

    Whatever it raises backs its unit of work out, and goes no further.
    """
    count = 0
    try:
        with unit_of_work(join=handler.join, actor=handler.name) as work:
            deliveries = work.get(handler.queue, handler.batch)
            count = len(deliveries)
            for delivery in deliveries:
                handler.handle(delivery, work)
    except DatabaseError:
        if not connection.is_usable():
            raise
        logger.info("%s was backed out.", handler.queue, exc_info=True)
    except BrokerError as error:
        logger.warning("%s: %s", handler.queue, error)
    except Exception as error:  # noqa: BLE001  # any error of a handler is a backout
        logger.info("%s was backed out: %s", handler.queue, error)
    return count


def until_due_s(queue: str) -> float:
    """Seconds until the queue's next delayed entry, by the database's clock."""
    left = delays.until_next_due(queue)
    return arrivals.POLL_S if left is None else max(left.total_seconds(), 0.001)
