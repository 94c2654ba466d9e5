"""Entries that wait for their time: redelivery delays and delivery delays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from django.db.models import DateTimeField, DurationField, ExpressionWrapper, Func, Min

from broker import arrivals, sql
from broker.models import Delayed, Queue


def wake_due(*, limit: int, now: datetime | None = None) -> int:
    """Make delayed entries ready whose time has come; return how many."""
    return announce(sql.fetch("wake", tuple_of, limit=limit, now=now))


def wake_due_on(queue: str, *, limit: int, now: datetime | None = None) -> int:
    """The same for one queue, by a consumer that found nothing ready.

    So a queue with consumers loses no time when no worker is alive.
    """
    return announce(
        sql.fetch("wake_queue", tuple_of, queue=queue, limit=limit, now=now)
    )


def until_next_due(queue: str | None = None) -> timedelta | None:
    """How long until the next delayed entry falls due, on one queue or on any.

    By the database's clock; negative when it is due already, None when none waits.
    """
    delayed = Delayed.objects.all()
    if queue is not None:
        ids = Queue.objects.filter(name=queue).values("pk")
        delayed = delayed.filter(queue_id__in=ids)
    first = Min("due_at")
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    (left,) = delayed.aggregate(
        left=ExpressionWrapper(first - clock, DurationField())
    ).values()
    return cast("timedelta | None", left)


def announce(woken: list[tuple[int, int]]) -> int:
    arrivals.announce_on_commit({queue_id for queue_id, _ in woken})
    return sum(n for _, n in woken)


def tuple_of(queue_id: int, n: int) -> tuple[int, int]:
    return queue_id, n
