"""Counters of queues, and resetting them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, get_args

from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.models import Queue
from broker.monitoring import counters
from broker.security import authorities
from console.accounts.permissions import RESET
from console.api.problems import REFUSED, require
from console.api.requests import RequestBody

router = Router(tags=["queues"])

Resettable = Literal[
    "messages_added",
    "messages_acknowledged",
    "acknowledge_attempts",
    "messages_expired",
    "messages_killed",
]
FIVE: tuple[Resettable, ...] = get_args(Resettable)


class Counters(Schema):
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


class Reset(RequestBody):
    """The counters to reset, and the reason."""

    counters: list[Resettable] = Field(default=list(FIVE), min_length=1)
    reason: str = Field(default="", max_length=200)


class WasReset(Schema):
    """The value of each counter before the reset."""

    queue: str
    had: dict[str, int]


@router.get(
    "/queues/{queue:name}/counters",
    response={200: Counters, **REFUSED},
    summary="The counters of a queue",
)
def read_counters(request: HttpRequest, name: Path[str]) -> dict[str, Any]:
    """Counters of a queue, consistent at one moment. In the queue's name, each byte of
    UTF-8 other than a letter, a digit or one of ``. _ -`` is written as ``~`` and two
    hexadecimal digits.
    """
    require(request, "broker.view_queue")
    queue = named(name)
    authorities.require(request.user, "inquire", queue.name)
    counted, since = counters.shown(queue.pk)
    values = {one: getattr(counted, one) for one in counters.ALL}
    return {"queue": queue.name, "since": since, **values}


@router.post(
    "/queues/{queue:name}/counters/reset",
    response={200: WasReset, **REFUSED},
    summary="Reset counters of a queue",
)
def reset_counters(
    request: HttpRequest, name: Path[str], body: Reset
) -> dict[str, Any]:
    """Resets all five counters to 0, or those that are listed; needs the authority
    ``set``. The response has their values before. The audit records the reset.
    """
    require(request, RESET)
    queue = named(name)
    authorities.require(request.user, "set", queue.name)
    had = counters.reset(queue, body.counters, reason=body.reason)
    return {"queue": queue.name, "had": had}


def named(name: str) -> Queue:
    found = Queue.objects.filter(name=name).first()
    if found is None:
        raise Http404(f"queue {name}")
    return found
