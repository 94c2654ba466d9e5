"""``backout scheduled`` and ``recurring``: what is put or delivered later."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django.utils import timezone
from typer import Argument, Option

from broker.monitoring import delayed
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.edges.commands.options import Json, Limit, User
from console.edges.numbers import numbered
from console.messages import recurring_list, scheduled_list

Name = Annotated[str, Argument(help="Which.")]
Queue = Annotated[str, Option(help="Only those of this queue.")]
After = Annotated[str, Option(help="The cursor of the last row of the page before.")]


def list_delayed(  # the subcommand's options
    self: Any,
    *,
    queue: Queue = "",
    after: After = "",
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List delayed messages, the next due first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    names = scheduled_list.visible_queues(person, queue)
    try:
        found = delayed.scheduled(names, after=after, limit=limit)
    except (ValueError, OverflowError):
        raise CommandError("--after: no cursor.", returncode=USAGE) from None
    rows = numbered(
        [
            {
                "message_id": row.entry.message_id,
                "queue": row.queue,
                "due_at": row.entry.due_at,
                "late": row.is_late,
                "redelivery": row.entry.is_redelivery,
                "attempt": row.attempt,
                "of": row.limit,
                "cursor": row.entry.cursor,
            }
            for row in scheduled_list.rows_of(found, names, timezone.now())
        ]
    )
    self.tell_rows("messages", rows, as_json=json, empty="No message is delayed.")


def list_recurring(self: Any, *, user: User = None, json: Json = False) -> None:
    """List recurring messages and their next times."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    rows = [
        {
            "name": one.name,
            "address": one.address,
            "when": one.words,
            "enabled": one.is_enabled,
            "last_at": one.last_at,
            "next_at": one.next_at,
            "problem": one.problem,
        }
        for one in recurring_list.visible_recurring(person)
    ]
    empty = "There is no recurring message."
    self.tell_rows("recurring", rows, as_json=json, empty=empty)
