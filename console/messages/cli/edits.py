"""``backout message edit``: an edited copy of one message."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from django.conf import settings
from django.core.management.base import CommandError
from typer import Argument, Option

from broker.formats import patches
from broker.formats.patches.documents import LONGEST
from broker.operations import Edit
from console.bodies.text_diff import difference
from console.edges import permissions
from console.edges.commands import actors, printing
from console.edges.commands.actors import REFUSED, USAGE
from console.edges.commands.options import Json, Reason, User, Yes, contents
from console.messages import repair_form, single_edit
from console.messages.search_form import BROWSE

Id = Annotated[int, Argument(help="The id of the message.", min=1)]
On = Annotated[str, Option("--queue", help="Where it is, if on several queues.")]
Body = Annotated[Path | None, Option(help="A file with the whole new body.")]
PatchFile = Annotated[
    Path | None, Option("--patch", help="A file with a patch, as for many messages.")
]


def edit(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    message: Id,
    *,
    queue: On = "",
    body: Body = None,
    patch: PatchFile = None,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Show what an edit changes; with --yes, send the edited copy."""
    if body is None and patch is None:
        raise CommandError("Give --body, --patch, or both.", returncode=USAGE)
    person = actors.somebody(user)
    actors.require(person, permissions.CHANGE)
    actors.require(person, BROWSE)
    found = single_edit.editable(person, message, queue)
    if found is None:
        raise CommandError(f"There is no message {message}.", returncode=REFUSED)
    wanted = (
        None
        if patch is None
        else patches.parse(contents(patch, LONGEST).decode(errors="replace"))
    )
    most = settings.BROKER_MAX_MESSAGE_BYTES
    changes = found.repair(wanted, None if body is None else contents(body, most))
    after = repair_form.repaired(found.subject, changes)
    shown = difference(found.subject, after)
    every = (*shown.headers, *shown.body)
    lines = [f"{one.sign or ' '} {printing.in_words(one.text)}" for one in every]
    told: dict[str, Any] = {"message_id": found.message_id, "queue": found.queue}
    told |= {"changes": lines, "copy_id": None, "operation": None}
    if not yes:
        self.tell(told, "\n".join([*lines, "--yes sends the copy."]), as_json=json)
        return
    sent = single_edit.send(
        person,
        found.message_id,
        found.queue,
        Edit(wanted.headers if wanted else (), changes.body),
        reason=reason.strip(),
        through=found.through,
    )
    told |= {"copy_id": sent.message_id, "operation": sent.operation_id}
    said = f"Message {found.message_id} was repaired; its copy is {sent.message_id}."
    self.tell(told, said, as_json=json)
