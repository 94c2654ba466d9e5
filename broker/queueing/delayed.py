"""Delayed entries: redelivery delay and delivery delay.

A transaction that makes delayed entries ready holds the advisory lock of their queue
until commit. So the entries of one queue become ready in order, batch after batch, and
queues do not wait for each other.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from django.db import connection
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Func, Min

from broker import sql
from broker.models import Delayed, Queue
from broker.queueing import notifications

# First key of the two-key advisory locks; the second key is the queue id.
TURNS = 0x424C
# Most queues of one batch: the server's memory for locks is limited, by default to
# about six thousand of all transactions together.
QUEUES = 2000
# Wait before the next check if another process is making the due entries ready.
AGAIN_S = 0.01


def wake_due(*, limit: int, now: datetime | None = None) -> int:
    """Make due delayed entries ready; return the number of entries.

    Each of at most ``QUEUES`` queues with due entries gets an equal share of ``limit``,
    at least one. If the number is below ``limit``, due entries may still be left. If it
    is 0, none is left, or other transactions hold the locks of their queues.
    """
    return announce(
        sql.fetch(
            "wake", tuple_of, lock_class=TURNS, queues=QUEUES, limit=limit, now=now
        )
    )


def wake_due_on(queue: str, *, limit: int, now: datetime | None = None) -> int:
    """Like ``wake_due``, for one queue; called by a consumer that found no ready entry.

    So a queue with consumers needs no worker.
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
    """The time until the next delayed entry of a queue, or of any queue, is due.

    By the database's clock. Negative if an entry is due already; None if none is
    delayed.
    """
    if queue is None:
        (left,) = sql.fetch_one("next_due")
        return cast("timedelta | None", left)
    # PostgreSQL runs the subquery once, for one id; then it reads one entry of an
    # index.
    ids = Queue.objects.filter(name=queue).values("pk")
    delayed = Delayed.objects.filter(queue_id=ids[:1])
    first = Min("due_at")
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    (left,) = delayed.aggregate(
        left=ExpressionWrapper(first - clock, DurationField())
    ).values()
    return cast("timedelta | None", left)


def until_due_s(queue: str) -> float:
    """How many seconds a consumer that found no entry may wait for delayed entries."""
    left = until_next_due(queue)
    return notifications.POLL_S if left is None else seconds_to_wait(left)


def seconds_to_wait(left: timedelta) -> float:
    """Seconds until the next entry is due. If an entry is due already, another process
    is waking it."""
    return left.total_seconds() if left > timedelta(0) else AGAIN_S


def announce(woken: list[tuple[int, int]]) -> int:
    notifications.announce_on_commit({queue_id for queue_id, _ in woken})
    return sum(n for _, n in woken)


def tuple_of(queue_id: int, n: int) -> tuple[int, int]:
    return queue_id, n
