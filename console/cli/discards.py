"""``backout discard``: the discard bin."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from django.core.management.base import CommandError
from django.utils import timezone
from typer import Argument, Option

from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned
from console.cli.deeds import name_of
from console.edges import people
from console.edges.options import Json, Limit, Reason, User, Yes
from console.edges.people import REFUSED, USAGE
from console.messages import discard_bin
from console.messages.documents import numbered

Queue = Annotated[str | None, Option(help="Only those discarded from this queue.")]
Code = Annotated[
    int | None, Option(help="Only those with this code of IBM MQ; 0: without one.")
]
Group = Annotated[
    str | None, Option(help="Only dead letters of the group with this fingerprint.")
]
Before = Annotated[str, Option(help="The cursor of the last row of the page before.")]
Ids = Annotated[list[int] | None, Argument(help="The ids of messages in the bin.")]


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
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    try:
        start = discard_bin.position(before)
    except (ValueError, OverflowError):
        raise CommandError("--before: no cursor.", returncode=USAGE) from None
    found = bin_of.discarded(
        queue=queue,
        reason=code,
        fingerprint=group,
        within=discard_bin.visible_queues(authorities.held_by(person)),
        before=start,
        limit=limit,
    )
    rows = rows_of(found)
    self.tell_rows("discards", rows, as_json=json, empty="The discard bin is empty.")


def restore(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    ids: Ids = None,
    *,
    queue: Queue = None,
    group: Group = None,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Put messages back at the head of their queues; at most 500."""
    if bool(ids) == bool(group):
        raise CommandError("Give either ids or --group.", returncode=USAGE)
    person = people.acting(user)
    people.require(person, discard_bin.RESTORE)
    which: dict[str, Any] = {
        "message_ids": ids or None,
        "fingerprint": group,
        "queue": queue,
    }
    if not yes:
        rows = rows_of(discard_bin.chosen(person, **which))
        self.stderr.write("These would be restored. Nothing is done yet; --yes does.")
        empty = "The discard bin has none of them that you may see."
        self.tell_rows("discards", rows, as_json=json, empty=empty)
        return
    outcomes = discard_bin.restore_chosen(
        person, **which, actor=name_of(person), why=reason.strip()
    )
    rows = [
        {
            "message_id": one.message_id,
            "restored": one.error is None,
            "error": str(one.error) if one.error else "",
        }
        for one in outcomes
    ]
    self.tell_rows("messages", rows, as_json=json, empty="None of them is in the bin.")
    if not all(row["restored"] for row in rows):
        raise typer.Exit(REFUSED)


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
