"""``backout history``, what queues did over time; and ``backout queues``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Any

from django.core.management.base import CommandError
from django.utils import timezone
from typer import Argument, Option

from broker.monitoring.history import reading
from broker.security import users
from console.edges import time_range
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.edges.commands.options import Json, User, moment
from console.queues import over_time
from dashboards.live import depths

Name = Annotated[str, Argument(help="Which.")]
Span = Annotated[str, Option("--range", help=f"{', '.join(time_range.RANGES)}.")]
Begin = Annotated[str, Option("--from", help="2026-05-14T02:00Z; or of TIME_ZONE.")]
End = Annotated[str, Option("--to", help="A time; without it, now.")]


def of_queue(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    name: Name,
    *,
    span: Span = time_range.USUAL,
    begin: Begin = "",
    end: End = "",
    user: User = None,
    json: Json = False,
) -> None:
    """List what one queue did, step by step."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    ids = [actors.queue(person, name).pk]
    tell(self, ids, (span, begin, end), as_json=json)


def of_all(
    self: Any,
    *,
    span: Span = time_range.USUAL,
    begin: Begin = "",
    end: End = "",
    user: User = None,
    json: Json = False,
) -> None:
    """List what all queues did together, without queues of dead letters."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    ids = over_time.ids_of_every_queue(person)
    tell(self, ids, (span, begin, end), as_json=json)


def tell(
    command: Any, ids: Collection[int], range_: tuple[str, str, str], *, as_json: bool
) -> None:
    """The steps of a range; in tables only those of which something is known."""
    now, (span, begin, end) = timezone.now(), range_
    try:
        asked = time_range.Range.of(
            span,
            moment(begin, "--from"),
            moment(end, "--to"),
            now=now,
        )
    except time_range.NoRange as error:
        raise CommandError(str(error), returncode=USAGE) from None
    found = reading.read(ids, asked.begin, asked.end, now=now)
    rows = [asdict(one) for one in found.points if one is not None]
    empty = "Nothing is known of that time."
    command.tell_rows("points", rows, as_json=as_json, empty=empty)


def queues(user: users.User | None) -> list[dict[str, Any]]:
    actors.require(user, "broker.view_queue")
    return [
        {
            "queue": one.name,
            "ready": one.ready,
            "in_flight": one.claimed,
            "delayed": one.delayed,
            "paused": one.paused,
            "dead_letters": one.takes_dead_letters,
        }
        for one in depths.queues(user=user)
    ]
