"""A broker with very much in it, for pages to be asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from broker import operations
from broker.models import Address, AuditRecord, Operation, Queue, RoutingType
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Order
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.bench import ground

DEEP, ONCE = "deep", "once"  # queues: with most messages, and where one attempt is all
CAUSES = [  # of deaths, by a word each: numbers are not what makes errors differ
    f"{first}{second}"
    for first in ("Key", "Value", "Type", "Time", "Price")
    for second in ("Missing", "Double", "Late", "Negative", "Unknown", "Empty")
]
BATCH = 1000
COPIES = """
INSERT INTO broker_audit (number, at, actor_kind, actor_id, actor, source, act,
    object_kind, object_id, object_name, outcome, reason, detail, operation_id, hash)
SELECT -copy, at - copy * interval '1 minute', actor_kind, actor_id, actor, source, act,
    object_kind, object_id, object_name, outcome, reason, detail, operation_id, hash
FROM broker_audit, generate_series(1, {copies}) AS copy
WHERE id = {id}"""


@dataclass(frozen=True)
class Many:
    """How much there is. What is not dead nor on one of the many queues is on one."""

    messages: int = 1_000_000
    letters: int = 200_000  # of these: dead, for one of 30 causes
    queues: int = 5_000
    on_each: int = 40  # messages on each of the many queues
    operations: int = 2_000
    records: int = 100_000  # of the audit


FEW = Many(20_000, letters=6_000, queues=100, operations=50, records=1_000)


def make(many: Many, user: User, say: Callable[[str], None]) -> None:
    say(f"{many.letters:,} dead letters")
    put_all(ONCE, many.letters)
    for number in range(many.letters // BATCH):
        with unit_of_work() as work:
            work.get(ONCE, BATCH)
            cause = number % len(CAUSES)
            work.back_out(f"{CAUSES[cause]}Error: row {number} is bad")
    say(f"{many.queues:,} queues")
    names = [f"many.{number:04}" for number in range(many.queues)]
    feeds = Address.objects.bulk_create(Address(name=name) for name in names)
    Queue.objects.bulk_create(
        Queue(name=one.name, address=one, routing_type=RoutingType.ANYCAST)
        for one in feeds
    )
    for name in names:
        put_all(name, many.on_each)
    say(f"{many.messages:,} messages in all")
    put_all(DEEP, many.messages - many.letters - many.queues * many.on_each)
    ground.settle_down()
    say(f"{many.operations:,} operations")
    for name in names[: many.operations]:
        order(user, Operation.Kind.PRIORITY, Chosen(queue=name), "9")
    order(user, Operation.Kind.RESUBMIT, Chosen(letters=Selection()))
    say(f"{many.records:,} records of the audit")
    copy_records(many.records)
    ground.settle_down()


def put_all(queue: str, count: int) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        put_many([one(queue, number) for number in numbers])


def one(queue: str, number: int) -> NewMessage:
    return NewMessage(
        queue,
        b'{"order": %d, "currency": "XBT"}' % number,
        content_type="application/json",
        subject=f"order.{number % 7}",
        properties={"tenant": f"t{number % 100}", "number": number},
    )


def order(
    user: User, kind: Operation.Kind, chosen: Chosen, argument: str = ""
) -> Operation:
    order = Order(kind, argument)
    plan = operations.plan(user, order, chosen, scope="all of them", reason="a bench")
    if chosen.queue:
        operations.start(plan.pk)
        while operations.step(plan.pk):
            pass
    return plan


@transaction.atomic
def copy_records(count: int) -> None:
    """Not chained, nor numbered: that they are read is measured, not how they came."""
    newest = AuditRecord.objects.latest("pk")
    ground.fetch("SET LOCAL session_replication_role = replica")
    ground.fetch(COPIES.format(copies=count, id=newest.pk))
