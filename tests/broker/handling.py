"""Handlers for tests, and dispatchers that run them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import AsyncHandle, Handle, Handler
from broker.client.dispatch.server_session import ServerSession
from broker.errors.mq_codes import Report
from broker.models import Queue
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.make import make_queue


class Seen:
    """A handler's notes: what it was given, and by which thread."""

    def __init__(self, behaviour: Callable[[Delivery], object] = id) -> None:
        self.__qualname__ = "handle_order"  # a handler is a function, and has a name
        self.behaviour = behaviour
        self.deliveries: list[Delivery] = []
        self.threads: set[str] = set()

    def __call__(self, delivery: Delivery, work: UnitOfWork) -> None:
        self.deliveries.append(delivery)
        self.threads.add(threading.current_thread().name)
        self.behaviour(delivery)

    @property
    def bodies(self) -> list[bytes]:
        return [delivery.body for delivery in self.deliveries]


def handler(
    handle: Handle | AsyncHandle,
    *,
    queue: str = "orders",
    join: bool = True,
    batch: int = 1,
    concurrency: int = 1,
    **rest: Any,
) -> Handler:
    return Handler(queue, handle, join, batch, concurrency, **rest)


def handle_next(handler: Handler) -> int:
    """One round of a ConnectionConsumer of its own."""
    return session(handler).serve()


def session(handler: Handler) -> ServerSession:
    return ServerSession(ConnectionConsumer.open(handler))


def accept(delivery: Delivery, work: UnitOfWork) -> None:
    """A handler that other processes can name."""


@contextmanager
def running(*these: Handler) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(these)
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        dispatcher.stop()


def refuse(_: Delivery) -> None:
    raise ValueError("no such customer")


def broken(queue: str = "orders", *, report: Report = Report.NONE, **more: Any) -> int:
    """A message that no ConnectionConsumer can hand out."""
    descriptor = {"format": "MQHRF2", "report": int(report)}
    return put(queue, descriptor=descriptor, **more).message_id


def stopped(*, join: bool = False) -> ServerSession:
    """A session whose queue has stopped: there is no dead letter queue."""
    make_queue("orders")
    broken()
    server = session(handler(Seen(), join=join))
    server.serve()
    assert Queue.objects.get(name="orders").stopped
    return server
