"""Consumers that take ahead, in tests: what they have, and what became of it."""

from __future__ import annotations

from typing import Any

from broker.models import (
    Kind,
    Queue,
)
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.get import Delivery, get
from broker.queueing.put import put_many
from broker.settlement.batch import Settlement, settle
from broker.settlement.outcomes import Accept, BackOut, Outcome
from broker.transactions.prefetch import Prefetched
from tests.make import NOON, make_messages, make_queue, make_setting


def ground(count: int = 3, **policy: Any) -> Queue:
    """A queue with messages, whose dead letters go to "DLQ"."""
    queue = make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", **{"dead_letter_address": "DLA"} | policy)
    put_many(make_messages(count), now=NOON)
    return queue


def consumer(limit: int = 9) -> tuple[Prefetched, list[Delivery]]:
    one = Prefetched(Queue.objects.get(name="orders"), actor="a client")
    return one, one.get(limit, now=NOON)


def of(outcome: Outcome, *deliveries: Delivery, actor: str = "") -> Settlement:
    ids = [one.message_id for one in deliveries]
    return Settlement(deliveries[0].uow, deliveries[0].queue_id, ids, outcome, actor)


def kinds(delivery: Delivery) -> list[Kind]:
    return [event.kind for event in journal.lifeline(delivery.message_id)]


def bodies(queue: str) -> list[bytes]:
    return [
        each.body for each in get(queue, owner=processes.current(), limit=9, now=NOON)
    ]


def healthy() -> bool:
    return fsck.violations() == [] and fsck.sums().balance == 0


def taker(queue: str = "orders", **fields: Any) -> Prefetched:
    return Prefetched(Queue.objects.get(name=queue), **fields)


def ids(deliveries: list[Delivery]) -> list[int]:
    return [one.message_id for one in deliveries]


def numbers(deliveries: list[Delivery]) -> list[int]:
    return [int(one.body) for one in deliveries]


def accept(*deliveries: Delivery) -> list[Exception | None]:
    first = deliveries[0]
    one = Settlement(first.uow, first.queue_id, ids([*deliveries]), Accept())
    return settle([one], now=NOON)


def back_out(*deliveries: Delivery) -> None:
    first = deliveries[0]
    outcome = BackOut("no such customer")
    one = Settlement(first.uow, first.queue_id, ids([*deliveries]), outcome)
    assert settle([one], now=NOON) == [None]
