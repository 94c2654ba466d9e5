"""Entries that wait for their time: redelivery delays and delivery delays.

Whoever makes entries ready has the *turn* of their queue, an advisory lock, until they
are committed. So what falls due on a queue becomes ready in order, one batch after the
other, whoever does it, while every queue goes on by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from django.db import connection
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Func, Min

from broker import sql
from broker.models import Delayed, Queue
from broker.queueing import notifications

TURNS = 0x424C  # the first key of the two-key advisory locks; the second is the queue
AGAIN_S = 0.01  # before one looks again at what is due and in somebody else's hands


def wake_due(*, limit: int, now: datetime | None = None) -> int:
    """Make delayed entries ready whose time has come; return how many.

    Each queue where anything is due has an equal share of ``limit``, at least one.
    Fewer do not mean that nothing is left; none means that nothing is, or that others
    are at it.
    """
    return announce(sql.fetch("wake", tuple_of, lock_class=TURNS, limit=limit, now=now))


def wake_due_on(queue: str, *, limit: int, now: datetime | None = None) -> int:
    """The same for one queue, by a consumer that found nothing ready.

    So a queue with consumers loses no time when no worker is alive.
    """
    return announce(
        sql.fetch(
            "wake_queue",
            tuple_of,
            queue=queue,
            lock_class=TURNS,
            in_transaction=connection.in_atomic_block,
            limit=limit,
            now=now,
        )
    )


def until_next_due(queue: str | None = None) -> timedelta | None:
    """How long until the next delayed entry falls due, on one queue or on any.

    By the database's clock; negative when it is due already, None when none waits.
    """
    if queue is None:
        (left,) = sql.fetch_one("next_due")
        return cast("timedelta | None", left)
    # The one id is known before the plan runs, which then reads one entry of an index.
    ids = Queue.objects.filter(name=queue).values("pk")
    delayed = Delayed.objects.filter(queue_id=ids[:1])
    first = Min("due_at")
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    (left,) = delayed.aggregate(
        left=ExpressionWrapper(first - clock, DurationField())
    ).values()
    return cast("timedelta | None", left)


def until_due_s(queue: str) -> float:
    """Seconds a consumer that found nothing may wait for what is delayed."""
    left = until_next_due(queue)
    return notifications.POLL_S if left is None else seconds_to_wait(left)


def seconds_to_wait(left: timedelta) -> float:
    """Until the next entry is due; what is due already is with somebody else."""
    return left.total_seconds() if left > timedelta(0) else AGAIN_S


def announce(woken: list[tuple[int, int]]) -> int:
    notifications.announce_on_commit({queue_id for queue_id, _ in woken})
    return sum(n for _, n in woken)


def tuple_of(queue_id: int, n: int) -> tuple[int, int]:
    return queue_id, n
