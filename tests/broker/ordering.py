"""How operators order things in tests, and how they take them back."""

from __future__ import annotations

from typing import Any

from broker import operations
from broker.models import Delayed, Discarded, Operation, Queue
from broker.operations import Chosen, Order
from broker.queueing.put import put_many
from tests.broker.dying import operator
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

Kind = Operation.Kind


def make_orders(count: int = 2, *, delayed: int = 0, **fields: Any) -> list[int]:
    """Messages on the queue "orders": some ready, some delayed until five past noon."""
    if not Queue.objects.filter(name="orders").exists():
        make_queue("orders")
    ready = make_messages(count, **fields)
    waiting = make_messages(delayed, deliver_at=NOON + minutes(5), **fields)
    return [one.message_id for one in put_many([*ready, *waiting], now=NOON)]


def plan_of(
    kind: Operation.Kind, argument: str = "", chosen: Chosen | None = None
) -> Operation:
    """Planned at noon, of all that is on "orders", if nothing else is chosen."""
    wanted = chosen or Chosen(queue="orders")
    order = Order(kind, argument)
    fields = {"scope": "them", "reason": "a test"}
    return operations.plan(operator(), order, wanted, **fields, now=NOON)


def order(
    kind: Operation.Kind, argument: str = "", chosen: Chosen | None = None
) -> Operation:
    """Plan it, and do it at one past noon."""
    planned = plan_of(kind, argument, chosen)
    return operations.start(planned.pk, now=NOON + minutes(1))


def undo(operation: Operation, *, at: float = 2) -> Operation:
    """Take it back, some minutes after noon."""
    planned = operations.plan_undo(operator(), operation.pk)
    return operations.start(planned.pk, now=NOON + minutes(at))


def notes(operation: Operation) -> list[str]:
    """What the ledger says of each item, by message."""
    items = operation.items.order_by("message_id", "queue_id")
    return [item.note or item.status for item in items]


def copies_of(operation: Operation) -> list[int]:
    ids = operation.items.order_by("id").values_list("copy_id", flat=True)
    return [one for one in ids if one is not None]


def delayed_on(queue: str) -> list[int]:
    rows = Delayed.objects.filter(queue_id=Queue.objects.get(name=queue).pk)
    return sorted(rows.values_list("id", flat=True))


def in_the_bin() -> list[int]:
    return sorted(Discarded.objects.values_list("message_id", flat=True))


def make_map() -> None:
    """Where everything can go that is on "orders"."""
    make_queue("orders")
    make_queue("review")
    make_queue("DLQ", address="DLA")
    make_queue("expired", address="EXPIRY")
    make_setting("orders", dead_letter_address="DLA", expiry_address="EXPIRY")


ORDERS: list[tuple[Operation.Kind, str]] = [
    (Kind.MOVE, "review"),
    (Kind.COPY, "review"),
    (Kind.REMOVE, ""),
    (Kind.EXPIRE, ""),
    (Kind.DEAD_LETTER, ""),
    (Kind.PRIORITY, "9"),
    (Kind.DELIVER, ""),
    (Kind.RESCHEDULE, (NOON + minutes(180)).isoformat()),
]
