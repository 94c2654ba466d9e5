"""``backout queue pause``, ``resume`` and ``reset-counters``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from django.core.management.base import CommandError
from typer import Argument, Option

from broker.formats import moments
from broker.models import Queue
from broker.monitoring import counters
from broker.operations import queue_pause
from broker.sql import database_now
from console.accounts.permissions import RESET
from console.cli import people
from console.cli.options import Json, Reason, User
from console.cli.people import NOTHING, USAGE
from console.queues.pause_end import pause_end

Name = Annotated[str, Argument(help="Which.")]
Until = Annotated[
    str,
    Option(
        help="When it resumes by itself: 06:00, “2026-11-27 06:00” or 2h; times are of"
        " TIME_ZONE."
    ),
]
PERMISSION = "broker.pause_queue"


def pause(
    self: Any,
    name: Name,
    *,
    until: Until = "",
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Pause a queue: it accepts messages, and delivers none."""
    person = people.acting(user)
    people.require(person, PERMISSION)
    try:
        end = pause_end(until, database_now())
    except ValueError as error:
        raise CommandError(f"--until: {error}", returncode=USAGE) from None
    is_new = queue_pause.pause(name, until=end, user=person, reason=reason)
    tell(self, name, is_new=is_new, as_json=json)


def resume(
    self: Any, name: Name, *, reason: Reason = "", user: User = None, json: Json = False
) -> None:
    """Resume a paused queue."""
    person = people.acting(user)
    people.require(person, PERMISSION)
    is_new = queue_pause.resume(name, user=person, reason=reason)
    tell(self, name, is_new=is_new, as_json=json)


def reset_counters(
    self: Any, name: Name, *, reason: Reason = "", user: User = None, json: Json = False
) -> None:
    """Reset the five counters of a queue; depths stay."""
    person = people.acting(user)
    people.require(person, RESET)
    queue = people.queue(person, name, "set")
    had = dict(counters.reset(queue, reason=reason))
    words = ", ".join(f"{one} {value:,}" for one, value in had.items())
    said = f"The counters of {name} are 0. They were: {words}."
    self.tell({"queue": name, "had": had}, said, as_json=json)


def tell(command: Any, name: str, *, is_new: bool, as_json: bool) -> None:
    """The state of the queue; exit code 3 if it was so before."""
    queue = Queue.objects.get(name=name)
    told = {"queue": name, "paused": queue.paused, "paused_until": queue.paused_until}
    if not queue.paused:
        said = f"{name} delivers messages."
    elif queue.paused_until is None:
        said = f"{name} is paused until somebody resumes it."
    else:
        said = f"{name} is paused until {moments.in_utc(queue.paused_until)}."
    command.tell(told, said, as_json=as_json)
    if not is_new:
        raise typer.Exit(NOTHING)
