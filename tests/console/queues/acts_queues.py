"""Orders for queues, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.queues import PauseQueue, ResetCounters, ResumeQueue, StartDelivery
from broker.models import CounterReset, Queue
from tests.console.act_doors import Example
from tests.make import make_queue

ORDERS = {"queue": "orders"}


def example(request: type, page: str, **attributes: Any) -> Example:
    """An order for a queue with these attributes."""

    def make() -> Mapping[str, str]:
        make_queue("orders", **attributes)
        return ORDERS

    return Example(
        request,
        page,
        about=("queue",),
        make=make,
        absent=ORDERS,
        missing="There is no queue 'orders'",
        changes=(Queue, CounterReset),
    )


EXAMPLES = {
    "pause_queue": example(PauseQueue, "console:pause"),
    "resume_queue": example(ResumeQueue, "console:resume", paused=True),
    "reset_counters": example(ResetCounters, "console:reset_counters"),
    "start_delivery": example(StartDelivery, "console:start_delivery", stopped=True),
}
