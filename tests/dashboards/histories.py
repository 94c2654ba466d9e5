"""Two days of a broker, made by its own engine, in which everything happens."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection

from broker import operations
from broker.models import AddressSetting, Operation, Queue
from broker.operations import Chosen
from broker.queueing import delayed as delays
from broker.queueing.put import put_many
from broker.settlement import discards, expiry, settle
from broker.settlement.outcomes import BackOut
from broker.transactions.prepared import (
    DECIDED,
    back_out_prepared,
    commit_prepared,
    prepare,
)
from broker.transactions.scope import UnitOfWork
from tests.broker import ordering
from tests.broker.dying import back_out, on, operator
from tests.dashboards.journal import until_final
from tests.make import NOON, make_messages, make_queue, minutes

Kind = Operation.Kind
NIGHT = NOON + timedelta(hours=11, minutes=59)
NEXT = NOON + timedelta(days=1)
AT_ONCE = 100_000  # items of an operation: no worker takes it up


def make_history() -> None:
    """Entries go every way there is, some of them past midnight."""
    ordering.make_map()
    make_queue("answers")
    AddressSetting.objects.update(max_delivery_attempts=2, redelivery_delay_ms=60_000)
    failures()
    survivors()
    by_operators()
    promises()
    past_midnight()
    until_final(last_xid())


def failures() -> None:
    """Accepted, backed out with and without a delay, dead-lettered, copied, undone."""
    put_many(make_messages(6), now=NOON)
    work = UnitOfWork(actor="clerk", now=NOON)
    work.get("orders", 2)
    work.commit()
    back_out(limit=2, at=1, actor="clerk")  # delayed for a minute
    delays.wake_due(limit=10, now=at(3))
    back_out(limit=2, at=4, actor="clerk")  # dead letters
    letters = Chosen(queue="DLQ", ids=tuple(on("DLQ")[:1]))
    resubmitted = order(Kind.RESUBMIT, chosen=letters, now=at(5))
    undo(resubmitted, now=at(6))


def survivors() -> None:
    """Released, marked to skip a backout, lost with their holder, or their get lost."""
    work = UnitOfWork(actor="ann", now=at(10))
    (given_back,) = work.get("orders", 1)
    work.release(given_back)
    work = UnitOfWork(actor="bob", now=at(11))
    work.get("orders", 1, mark=True)
    work.back_out(BackOut("no", spread=0))
    assert work.skipped is not None
    work.skipped.commit()
    (lost,) = UnitOfWork(actor="cid", now=at(12)).get("orders", 1)
    settle.end_lost(lost.uow, "it went", now=at(13))
    put_many(make_messages(1), now=at(14))
    queue = Queue.objects.get(name="orders")
    settle.end_ready(queue.pk, on("orders")[:1], BackOut("gone"), now=at(15))


def by_operators() -> None:
    """Every kind of operation, each taken back, and then done."""
    for n, (kind, argument) in enumerate(ordering.ORDERS):
        ready = make_messages(2)
        delayed = make_messages(1, deliver_at=at(300))
        put_many([*ready, *delayed], now=at(20 + n * 10))
        done = order(kind, argument, now=at(21 + n * 10))
        undo(done, now=at(22 + n * 10))
        order(kind, argument, now=at(23 + n * 10))
    put_many(make_messages(2), now=at(100))
    removed = order(Kind.REMOVE, now=at(101))
    gone = removed.items.order_by("-message_id").values_list("message_id", "queue_id")
    discards.restore(*gone[0], now=at(102))
    put_many(make_messages(2, expires_at=at(104)), now=at(103))
    expiry.expire(limit=10, now=at(105))


def order(
    kind: Kind, argument: str = "", *, chosen: Chosen | None = None, now: datetime
) -> Operation:
    planned = ordering.plan_of(kind, argument, chosen)
    return operations.start(planned.pk, limit=AT_ONCE, now=now)


def undo(operation: Operation, *, now: datetime) -> Operation:
    planned = operations.plan_undo(operator(), operation.pk)
    return operations.start(planned.pk, limit=AT_ONCE, now=now)


def at(after: float) -> datetime:
    return NOON + minutes(after)


def promises() -> None:
    """Kept, and broken. They begin at noon, for whatever is there."""
    make_queue("fresh")
    for xid in ("kept", "broken"):
        put_many(make_messages(2, "fresh"), now=NOON)
        work = UnitOfWork(coordinated=True, now=NOON)
        work.get("fresh", 2)
        work.put("answers", b"done")
        prepare(work, xid)
    commit_prepared("kept", now=at(40))
    back_out_prepared("broken", error=BackOut(DECIDED, spread=0), now=at(41))


def past_midnight() -> None:
    """Held, delayed and waiting on one day, and ended on the next."""
    late = make_messages(1, deliver_at=NEXT)
    put_many([*make_messages(4), *late], now=NIGHT)
    work = UnitOfWork(actor="dan", now=NIGHT)
    held = work.get("orders", 2)
    back_out(limit=1, at=11 * 60 + 59.5)
    settle.accept(held[0].uow, expected=2, actor="dan", now=NEXT)
    delays.wake_due(limit=10, now=NEXT + minutes(1))
    ended = UnitOfWork(actor="eve", now=NEXT + minutes(2))
    ended.get("orders", 3)
    ended.commit()


def last_xid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(xid) FROM broker_event")
        return int(cursor.fetchone()[0])


def messages() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT unnest(ids) FROM broker_event ORDER BY 1")
        return [one for (one,) in cursor]
