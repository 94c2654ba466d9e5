"""Queues and their depths, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from broker.acts.declaring import Holds, QueueName
from broker.acts.visible_queues import find_queue
from broker.models import Queue
from broker.security import authorities
from broker.security.authorities import Principal
from console.edges.queries import build_answer, declared_query, page_of
from dashboards.live import depths

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue and its depths now."""

    columns: ClassVar[Sequence[str]] = (
        *("name", "ready", "in_flight", "delayed", "paused", "takes_dead_letters"),
    )

    name: str
    address: str
    paused: bool
    paused_until: datetime | None  # null: until somebody resumes it
    stopped: bool  # delivery to ConnectionConsumers is stopped
    takes_dead_letters: bool
    ready: int
    in_flight: int
    delayed: int


@dataclass(frozen=True, slots=True)
class Queues:
    """A page of queues; the next page begins after ``next``."""

    empty: ClassVar = "There is no queue."

    queues: list[QueueState]
    next: str | None


@dataclass(frozen=True, slots=True)
class ListQueues:
    """Which queues, by name, and the size of the page."""

    text: Annotated[str, Holds("Part of the queues' names.", most=255)] = ""
    after: Annotated[str, Holds("The name that the page begins after.", most=255)] = ""
    limit: Annotated[int, Holds("The most queues to return.", least=1, most=1000)] = 100


@declared_query(VIEW)
def list_queues(actor: Principal, request: ListQueues) -> Queues:
    """The queues.

    Those that the caller may inquire, by name, with their depths.
    """
    text = request.text.strip().lower()
    every = sorted(depths.queues(user=actor), key=lambda one: one.name)
    found = [
        one for one in every if text in one.name.lower() and one.name > request.after
    ]
    part, following = page_of(found, request.limit, lambda one: one.name)
    return Queues(states_of(part), following)


@dataclass(frozen=True, slots=True)
class ReadQueue:
    """The queue."""

    queue: QueueName


@declared_query(VIEW)
def read_queue(actor: Principal, request: ReadQueue) -> QueueState:
    """A queue.

    With its depths.
    """
    found = find_queue(authorities.held_by(actor), request.queue)
    return states_of(depths.queues(found.name))[0]


def states_of(queues: Sequence[depths.QueueDepth]) -> list[QueueState]:
    ids = [one.queue_id for one in queues if one.paused]
    ends = dict(Queue.objects.filter(pk__in=ids).values_list("pk", "paused_until"))
    return [
        build_answer(
            QueueState,
            one,
            in_flight=one.claimed,
            paused_until=ends.get(one.queue_id),
        )
        for one in queues
    ]
