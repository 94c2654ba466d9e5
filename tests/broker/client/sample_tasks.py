"""Tasks of the tests of the backend."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

from django import VERSION

from broker.client import Reject
from broker.client.django_tasks import redelivery
from broker.models import Address
from tests.broker.breaking import BROKEN, SET
from tests.broker.odd_exceptions import MAKERS

if TYPE_CHECKING or VERSION >= (6, 0):
    from django.tasks import TaskContext, task
else:
    from django_tasks import TaskContext, task

WAYS = BROKEN | SET


class CardDeclined(Exception):
    """Trying again does not help."""


@task
def noop() -> None:
    return None


@task
def add(one: int, other: int = 0) -> int:
    return one + other


@task
async def add_later(one: int, other: int) -> int:
    await asyncio.sleep(0)
    return one + other


@task
def fail(why: str) -> None:
    raise ValueError(why)


@redelivery(delay=60, multiplier=2, max_attempts=3, never=CardDeclined)
@task
def charge(outcome: str) -> str:
    if outcome == "declined":
        raise CardDeclined(outcome)
    if outcome == "busy":
        raise ConnectionError(outcome)
    return outcome


@task
def reject(why: str) -> None:
    raise Reject(why)


@task
def exit_python() -> None:
    raise SystemExit(3)


@task
def kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@task
def give(size: int, text: str = "x") -> str:
    return text * size


@task
def echo(value: Any) -> Any:
    return value


@task
def give_back(text: str) -> Any:
    """The value of which this is the ``repr``."""
    return eval(text, {"nan": float("nan"), "inf": float("inf")})


@task(takes_context=True)
def tell(context: TaskContext, most: int) -> dict[str, Any]:
    """Fail up to an attempt, then say which it is."""
    if context.attempt < most:
        raise ValueError(str(context.attempt))
    return {"id": context.task_result.id, "attempt": context.attempt}


@task
def make_address(name: str) -> str:
    Address.objects.create(name=name)
    return name


@task
def raise_odd(name: str) -> None:
    raise MAKERS[name]()


@redelivery(delay=600)
@task
def raise_odd_later(name: str) -> None:
    raise MAKERS[name]()


@redelivery(never=BaseException)
@task
def raise_odd_once(name: str) -> None:
    raise MAKERS[name]()


@task
def break_session(way: str, *, raises: bool) -> str:
    WAYS[way]()
    if raises:
        raise ValueError(way)
    return way


not_a_task = noop.func
