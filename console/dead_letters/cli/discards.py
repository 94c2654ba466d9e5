"""``backout discard``: the discard bin."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django.utils import timezone
from typer import Option

from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned
from console.dead_letters import discard_bin
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.edges.commands.options import Json, Limit, User
from console.edges.numbers import numbered

Queue = Annotated[str | None, Option(help="Only those discarded from this queue.")]
Code = Annotated[
    int | None, Option(help="Only those with this code of IBM MQ; 0: without one.")
]
Group = Annotated[
    str | None, Option(help="Only dead letters of the group with this fingerprint.")
]
Before = Annotated[str, Option(help="The cursor of the last row of the page before.")]


def list_all(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    *,
    queue: Queue = None,
    code: Code = None,
    group: Group = None,
    before: Before = "",
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List discarded messages, the newest first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    try:
        start = discard_bin.position(before)
    except (ValueError, OverflowError):
        raise CommandError("--before: no cursor.", returncode=USAGE) from None
    found = bin_of.discarded(
        queue=queue,
        reason=code,
        fingerprint=group,
        within=bin_of.visible_queues(authorities.held_by(person)),
        before=start,
        limit=limit,
    )
    rows = rows_of(found)
    self.tell_rows("discards", rows, as_json=json, empty="The discard bin is empty.")


def rows_of(found: list[Binned]) -> list[dict[str, Any]]:
    now = timezone.now()
    plain = ("message_id", "queue", "discarded_at", "why", "reason", "keep_until")
    return numbered(
        [
            {name: getattr(one, name) for name in plain}
            | {
                "obstacle": discard_bin.obstacle_of(one, now),
                "cursor": discard_bin.cursor_of(one),
            }
            for one in found
        ]
    )
