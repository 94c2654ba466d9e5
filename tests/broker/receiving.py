"""Clients of the broker in tests: messages that come back, and what is where."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from broker.client import Connection, Consumer, Session, SessionMode, connect
from broker.models import Discarded, Queue
from broker.queueing.journal import Depth, depths
from broker.queueing.put import put, put_many
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_messages, make_queue

AUTO, CLIENT, TRANSACTED = SessionMode.AUTO, SessionMode.CLIENT, SessionMode.TRANSACTED
MODES = list(SessionMode)
DLQ = settings.BROKER_DEAD_LETTER_QUEUE


def client(**fields: Any) -> Connection:
    return connect(**{"now": NOON} | fields)


def session(mode: SessionMode = AUTO, **fields: Any) -> Session:
    return client().session(mode, **fields)


def consumer(
    mode: SessionMode = AUTO, queue: str = "orders", **fields: Any
) -> Consumer:
    return session(mode, **fields).consumer(queue)


def put_orders(count: int, **fields: Any) -> None:
    put_many(make_messages(count, **fields), now=NOON)


def put_again(backouts: int, body: bytes = b"poison", **fields: Any) -> None:
    """A message on "orders" that was backed out so often, put first."""
    put("orders", body, now=NOON, **fields)
    for _ in range(backouts):
        work = UnitOfWork(now=NOON)
        work.get("orders")
        work.back_out(BackOut("no such customer", spread=0))


def make_poison(
    backouts: int = 2, *, threshold: int = 2, backout_queue: str = "", **fields: Any
) -> Queue:
    """The queue "orders" whose first message is poison, if it has that threshold."""
    orders = make_queue(backout_threshold=threshold, backout_queue=backout_queue)
    put_again(backouts, **fields)
    return orders


def received(consumer: Consumer, most: int = 10) -> list[bytes]:
    """The bodies of what is there to be received."""
    bodies: list[bytes] = []
    while len(bodies) < most and (message := consumer.receive_nowait()):
        bodies.append(message.body)
    return bodies


def counts(queue: str = "orders") -> list[tuple[bytes, int]]:
    """Bodies and backout counts of what a raw get finds, in order; then given back."""
    work = UnitOfWork(now=NOON)
    found = work.get(queue, 100)
    for delivery in found:
        work.release(delivery)
    work.commit()
    return [(delivery.body, delivery.backout_count) for delivery in found]


def binned() -> list[int | None]:
    """The reasons of what is in the discard bin."""
    return list(Discarded.objects.order_by("pk").values_list("reason", flat=True))


def depth(queue: Queue) -> Depth:
    return depths()[queue.pk]
