"""ConnectionConsumers: those that run, stopped delivery, and starting it again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from broker.models import Stoppage
from broker.security import authorities
from console.consumers import consumer_list
from console.consumers.consumer_list import Running, Stopped
from console.edges import permissions
from console.edges.numbers import numbered
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import REFUSED, require

router = Router(tags=["consumers"])


class StoppageState(Numbered):
    """A queue whose delivery to ConnectionConsumers stopped at this message."""

    queue: str
    stopped_at: datetime
    reason: int  # IBM MQ's code
    why: str
    cleared_at: datetime | None
    cleared_by: str | None


class StoppedQueue(StoppageState):
    """A queue whose delivery is stopped now."""

    waiting: int  # ready messages
    remedy: str  # what to do before it is started
    may_start: bool


class RunningConsumer(Schema):
    """A ConnectionConsumer and its process."""

    queue: str
    handler: str
    selector: str
    process: str
    server_sessions: int
    max_running: int | None  # over all processes; null: no limit
    rate: str  # over all processes; empty: no limit
    retains_unwanted: bool
    started_at: datetime


class Consumers(Schema):
    """ConnectionConsumers of queues that the caller may inquire."""

    stopped: list[StoppedQueue]
    running: list[RunningConsumer]
    ended: list[StoppageState]  # earlier stoppages, the latest first; at most 20


@router.get(
    "/consumers", response={200: Consumers, **REFUSED}, summary="ConnectionConsumers"
)
def list_consumers(request: HttpRequest) -> dict[str, Any]:
    """Queues whose delivery is stopped, with what to do; ConnectionConsumers that run;
    and earlier stoppages.
    """
    require(request, "broker.view_queue")
    may = permissions.may(request.user, consumer_list.START)
    held = authorities.held_by(request.user)
    found = consumer_list.listed(held, has_permission=may)
    return {
        "stopped": numbered([stopped_document(one) for one in found.stopped]),
        "running": [running_document(one) for one in found.running],
        "ended": numbered([stoppage_document(one) for one in found.over]),
    }


def stopped_document(one: Stopped) -> dict[str, Any]:
    return stoppage_document(one.stoppage) | {
        "waiting": one.waiting,
        "remedy": one.remedy,
        "may_start": one.may_start,
    }


def stoppage_document(one: Stoppage) -> dict[str, Any]:
    by = one.cleared_by
    plain = ("message_id", "stopped_at", "reason", "why", "cleared_at")
    return {
        **{name: getattr(one, name) for name in plain},
        "queue": one.queue.name,
        "cleared_by": by.get_username() if by else None,
    }


def running_document(one: Running) -> dict[str, Any]:
    plain = (
        *("handler", "selector", "server_sessions", "max_running", "rate"),
        *("retains_unwanted", "started_at"),
    )
    return {
        **{name: getattr(one.consumer, name) for name in plain},
        "queue": one.consumer.queue.name,
        "process": one.process,
    }
