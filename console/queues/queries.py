"""Counters of queues, and what queues did over time, for REST and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from broker.acts.declaring import Holds, QueueName
from broker.acts.visible_queues import find_queue
from broker.monitoring import counters
from broker.security import authorities
from broker.security.authorities import Principal
from console.edges.queries import build_answer, declared_query
from console.queues import over_time
from console.queues.history_points import HistoryPoints, Window, points_of

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class QueueWindow(Window):
    """A queue, and a range of time."""

    queue: QueueName = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class QueueHistory(HistoryPoints):
    """What a queue did over time, the oldest step first."""

    queue: str


@declared_query(VIEW)
def read_history(actor: Principal, request: QueueWindow) -> QueueHistory:
    """What a queue did over time.

    At most 180 steps of equal length; the longer the range, the longer they are. With
    ``from``, ``range`` is ignored, and without ``to`` the range ends now. Samples are
    kept for 92 days. Needs the authority ``inquire``.
    """
    queue = find_queue(authorities.held_by(actor), request.queue)
    points = points_of([queue.pk], request)
    return build_answer(QueueHistory, points, queue=queue.name)


@dataclass(frozen=True, slots=True)
class TotalWindow(Window):
    """A range of time, and which queues are added up."""

    # queues: all but dead letter queues; consumers: queues with ConnectionConsumers
    of: Annotated[Literal["queues", "consumers"], Holds("Which are added up.")] = (
        "queues"
    )


@declared_query(VIEW)
def read_total_history(actor: Principal, request: TotalWindow) -> HistoryPoints:
    """What all queues did over time.

    The sum of all queues that the caller may inquire, as on the overview.
    """
    is_total = request.of == "queues"
    ids_of = over_time.ids_of_every_queue if is_total else over_time.ids_of_consumers
    return points_of(ids_of(actor), request)


@dataclass(frozen=True, slots=True)
class Counters:
    """Counts of a queue, and its depths now."""

    queue: str
    messages_added: int
    messages_acknowledged: int
    acknowledge_attempts: int
    messages_expired: int
    messages_killed: int
    delivering: int
    scheduled: int
    message_count: int
    since: dict[str, datetime]  # time of the last reset, by counter

    def __str__(self) -> str:
        return "\n".join(f"{name}: {getattr(self, name):,}" for name in counters.ALL)


@dataclass(frozen=True, slots=True)
class ReadCounters:
    """The queue."""

    queue: QueueName


@declared_query(VIEW)
def read_counters(actor: Principal, request: ReadCounters) -> Counters:
    """The counters of a queue, consistent at one moment.

    In the queue's name, each byte of UTF-8 other than a letter, a digit or one of
    ``. _ -`` is written as ``~`` and two hexadecimal digits.
    """
    queue = find_queue(authorities.held_by(actor), request.queue)
    counted, since = counters.read_counters(queue.pk)
    return build_answer(Counters, counted, queue=queue.name, since=since)
