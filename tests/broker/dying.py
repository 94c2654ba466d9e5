"""How messages die in tests, and who brings them back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from broker import operations
from broker.models import Operation, Queue, Ready
from broker.queueing.get import Delivery
from broker.queueing.put import put_many
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    minutes,
    plan_resubmit,
)

ERROR = "no such customer 17"


def back_out(
    queue: str = "orders",
    *,
    limit: int = 1,
    error: str = ERROR,
    at: float = 0,
    actor: str = "",
) -> list[Delivery]:
    """One unit of work that ends badly, some minutes after noon; what it had got."""
    work = UnitOfWork(actor=actor, now=NOON + minutes(at))
    deliveries = work.get(queue, limit)
    work.back_out(BackOut(error, spread=0))
    return deliveries


def make_dead_letters(
    count: int,
    *,
    address: str = "orders",
    queue: str = "orders",
    attempts: int = 1,
    error: str = ERROR,
    **fields: Any,
) -> list[int]:
    """Messages that died on a queue; return the ids of their copies."""
    if not Queue.objects.filter(name="DLQ").exists():
        make_queue("DLQ", address="DLA")
        make_setting(address, max_delivery_attempts=attempts, dead_letter_address="DLA")
    if not Queue.objects.filter(name=queue).exists():
        make_queue(queue, address=address)
    before = set(on("DLQ"))
    put_many(make_messages(count, address, **fields), now=NOON)
    for _ in range(attempts):
        assert back_out(queue, limit=count, error=error)
    return [one for one in on("DLQ") if one not in before]


def on(queue: str) -> list[int]:
    """The ready messages of a queue, by id."""
    ready = Ready.objects.filter(queue_id=Queue.objects.get(name=queue).pk)
    return sorted(ready.values_list("id", flat=True))


def operator() -> User:
    """Omar, whose password nobody needs: to hash one takes longer than most tests."""
    return User.objects.get_or_create(username="omar")[0]


def plan(reason: str = "a test", argument: str = "") -> Operation:
    return plan_resubmit(operator(), "all", reason=reason, argument=argument)


def start(
    operation: Operation, limit: int = 100, now: datetime | None = None
) -> Operation:
    return operations.start(operation.pk, limit=limit, now=now)
