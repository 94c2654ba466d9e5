"""ConnectionConsumers, and queues whose delivery is stopped, for REST and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from broker.models import Stoppage
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.security.authorities import Principal
from console.consumers import consumer_list
from console.edges import permissions
from console.edges.queries import (
    All,
    build_answer,
    declared_query,
)

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class StoppageState:
    """A queue whose delivery to ConnectionConsumers stopped at this message."""

    columns: ClassVar[Sequence[str]] = (
        "queue",
        "stopped_at",
        "why",
        "cleared_at",
        "cleared_by",
    )

    message_id: int
    number: int  # the number that all copies of the message share
    queue: str
    stopped_at: datetime
    reason: int  # IBM MQ's code
    why: str
    cleared_at: datetime | None
    cleared_by: str | None


@dataclass(frozen=True, slots=True)
class StoppedQueue(StoppageState):
    """A queue whose delivery is stopped now."""

    columns: ClassVar[Sequence[str]] = (
        *("queue", "stopped_at", "message_id", "why", "remedy", "waiting"),
    )

    waiting: int  # ready messages
    remedy: str  # what to do before delivery is started again
    may_start: bool


@dataclass(frozen=True, slots=True)
class RunningConsumer:
    """A ConnectionConsumer and its process."""

    columns: ClassVar[Sequence[str]] = (
        *("queue", "handler", "selector", "server_sessions", "busy_percent"),
        *("process", "started_at"),
    )

    queue: str
    handler: str
    selector: str
    process: str
    server_sessions: int
    # Share of the last minute in which its sessions had messages; null: not known.
    busy_percent: int | None
    max_running: int | None  # the limit over all processes; null: none
    rate: str  # the limit over all processes; empty: none
    retains_unwanted: bool
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Consumers:
    """ConnectionConsumers of queues that the caller may inquire."""

    empty: ClassVar = "No ConnectionConsumer runs, and no delivery is stopped."

    stopped: list[StoppedQueue]
    running: list[RunningConsumer]
    ended: list[StoppageState]  # earlier stoppages, the latest first; at most 20


@declared_query(VIEW)
def list_consumers(actor: Principal, request: All) -> Consumers:
    """ConnectionConsumers.

    Queues whose delivery is stopped, with what to do; ConnectionConsumers that run; and
    earlier stoppages.
    """
    may = permissions.may(actor, consumer_list.START)
    found = consumer_list.listed(authorities.held_by(actor), has_permission=may)
    every = [*(one.stoppage for one in found.stopped), *found.over]
    numbers = public_numbers(one.message_id for one in every)
    return Consumers(
        [
            build_answer(
                StoppedQueue,
                one.stoppage,
                **stoppage_facts(one.stoppage, numbers),
                waiting=one.waiting,
                remedy=one.remedy,
                may_start=one.may_start,
            )
            for one in found.stopped
        ],
        [
            build_answer(
                RunningConsumer,
                one.consumer,
                queue=one.consumer.queue.name,
                process=one.process,
            )
            for one in found.running
        ],
        [
            build_answer(StoppageState, one, **stoppage_facts(one, numbers))
            for one in found.over
        ],
    )


def stoppage_facts(one: Stoppage, numbers: Mapping[int, int]) -> dict[str, Any]:
    return {
        "number": numbers[one.message_id],
        "queue": one.queue.name,
        "cleared_by": one.cleared_by.get_username() if one.cleared_by else None,
    }
