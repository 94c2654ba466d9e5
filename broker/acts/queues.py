"""Acts on queues: pause, resume, reset counters, start delivery again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, get_args

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, QueueName, Reason, declared
from broker.acts.visible_queues import find_queue
from broker.client.dispatch import stoppages
from broker.formats import moments
from broker.models import Act, Queue
from broker.monitoring import counters
from broker.operations import queue_pause
from broker.security.authorities import EVERYTHING, Principal

PAUSE = "broker.pause_queue"

Counter = Literal[
    "messages_added",
    "messages_acknowledged",
    "acknowledge_attempts",
    "messages_expired",
    "messages_killed",
]


@dataclass(frozen=True, slots=True)
class PauseQueue:
    """The queue, and when it resumes by itself."""

    queue: QueueName
    until: Annotated[
        datetime | None,
        Holds(
            gettext_noop(
                "When it resumes by itself; without it, when somebody resumes it."
            )
        ),
    ] = None
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class ResumeQueue:
    """The queue."""

    queue: QueueName
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class QueueDelivery:
    """Whether a queue delivers messages."""

    queue: str
    paused: bool
    paused_until: datetime | None
    changed: bool  # false: the queue was in this state before

    def __str__(self) -> str:
        if not self.paused:
            return f"{self.queue} delivers messages."
        if self.paused_until is None:
            return f"{self.queue} is paused until somebody resumes it."
        return f"{self.queue} is paused until {moments.in_utc(self.paused_until)}."


@declared(permission=PAUSE, recorded_as=Act.PAUSE, authorities={"queue": "set"})
def pause_queue(actor: Principal, request: PauseQueue) -> QueueDelivery:
    """Pause a queue.

    It accepts messages and delivers none, until it is resumed or until the time that is
    given.
    """
    changed = queue_pause.pause(
        request.queue, until=request.until, user=actor, reason=request.reason
    )
    return read_delivery(request.queue, changed=changed)


@declared(permission=PAUSE, recorded_as=Act.RESUME, authorities={"queue": "set"})
def resume_queue(actor: Principal, request: ResumeQueue) -> QueueDelivery:
    """Resume a paused queue."""
    changed = queue_pause.resume(request.queue, user=actor, reason=request.reason)
    return read_delivery(request.queue, changed=changed)


def read_delivery(name: str, *, changed: bool) -> QueueDelivery:
    queue = find_queue(EVERYTHING, name)
    return QueueDelivery(queue.name, queue.paused, queue.paused_until, changed)


@dataclass(frozen=True, slots=True)
class ResetCounters:
    """The queue, and which of its counters."""

    queue: QueueName
    counters: Annotated[
        tuple[Counter, ...],
        Holds(gettext_noop("Which; without it, all five."), least=1),
    ] = get_args(Counter)
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class CountersReset:
    """The values before the reset."""

    queue: str
    had: Mapping[str, int]  # values by name of the counter

    def __str__(self) -> str:
        words = ", ".join(f"{one} {value:,}" for one, value in self.had.items())
        return f"Counters of {self.queue} are 0. They were: {words}."


@declared(
    permission=PAUSE, recorded_as=Act.RESET_COUNTERS, authorities={"queue": "set"}
)
def reset_counters(actor: Principal, request: ResetCounters) -> CountersReset:
    """Reset counters of a queue to 0.

    Depths are not reset. The answer has the values before the reset.
    """
    queue: Queue = find_queue(EVERYTHING, request.queue)
    had = counters.reset(queue, request.counters, reason=request.reason)
    return CountersReset(queue.name, had)


@dataclass(frozen=True, slots=True)
class StartDelivery:
    """The queue."""

    queue: QueueName


@dataclass(frozen=True, slots=True)
class DeliveryStarted:
    """Whether delivery was stopped."""

    queue: str
    changed: bool  # false: delivery was not stopped

    def __str__(self) -> str:
        if not self.changed:
            return f"Delivery from {self.queue} is not stopped."
        return f"Delivery from {self.queue} starts again."


@declared(
    permission=PAUSE, recorded_as=Act.START_DELIVERY, authorities={"queue": "set"}
)
def start_delivery(actor: Principal, request: StartDelivery) -> DeliveryStarted:
    """Start stopped delivery to ConnectionConsumers again.

    It is refused as long as no queue accepts the message that stopped it.
    """
    queue: Queue = find_queue(EVERYTHING, request.queue)
    changed = stoppages.clear(queue.name, user=actor)
    return DeliveryStarted(queue.name, changed)
