"""Makes dead letters, by the way in which they come about."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from broker.models import Queue
from broker.monitoring import dead_letters
from broker.monitoring.dead_letters import Letter
from broker.queueing import delayed
from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from tests.make import NOON, make_queue, make_setting

ALL = dead_letters.Selection()


def make_places(*, attempts: int = 2, delay_ms: int = 0) -> Queue:
    """``orders``, whose dead letters go to the address DLA, which feeds DLQ."""
    make_queue("DLQ", address="DLA")
    make_setting(
        max_delivery_attempts=attempts,
        redelivery_delay_ms=delay_ms,
        dead_letter_address="DLA",
    )
    return make_queue()


def attempt(
    error: str | None = None,
    *,
    queue: str = "orders",
    now: datetime = NOON,
    limit: int = 1,
    actor: str = "shop.handle",
) -> list[int]:
    """One delivery that takes 12 ms and ends well, or with an error."""
    delayed.wake_due(limit=1000, now=now)
    with unit_of_work(actor=actor, now=now) as work:
        got = [delivery.message_id for delivery in work.get(queue, limit)]
        work.now = now + timedelta(milliseconds=12)
        if error is not None:
            work.back_out(error)
    return got


def die(
    error: str = "ValueError: row 7 is bad", *, attempts: int = 2, **fields: Any
) -> Letter:
    """A message that is backed out until it is a dead letter, a minute each time."""
    now = fields.pop("now", NOON)
    put("orders", fields.pop("body", b"{}"), now=now, **fields)
    for number in range(attempts):
        assert attempt(error, now=now + timedelta(minutes=number + 1))
    return dead_letters.letters(ALL, limit=1)[0]
