"""Export of messages to a file, and import from one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError

from broker.acts.declaring import name_in_journal
from broker.models import Message
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from broker.queueing import message_files
from broker.security import audit, authorities
from broker.security.redaction import Sight
from broker.security.users import User
from console.edges import masking
from console.edges.commands import actors
from console.edges.commands.options import unreadable
from console.edges.commands.printing import progress
from console.messages import importing

BATCH = 200  # messages in memory at once
Keys = Sequence[tuple[int, int]]  # the message and the queue of each entry


def take_out(
    user: User | None,
    filters: Sequence[str],
    to: Path,
    errors: TextIO,
    *,
    why: str = "",
) -> dict[str, Any]:
    """Write the messages that filters find to a new file. Redaction rules mask them,
    unless the user gives a reason and may unmask; masked messages cannot be imported
    again.
    """
    actors.require(user, "broker.browse_queue")
    keys, search = found_by(user, filters)
    if not keys:
        return {"messages": 0, "file": None}
    on = audit.Thing("export", name=str(search.filter))
    sight = masking.sight_for(user, why, on, bodies=True)
    try:
        with to.open("x", encoding="utf-8") as file:
            count = write(keys, search, sight, file, errors)
    except OSError as error:
        why = f"{to} cannot be written: {error.strerror}."
        raise CommandError(why, returncode=actors.REFUSED) from None
    return {"messages": count, "file": str(to)}


def take_in(
    user: User | None, file: Path, to: str | None, errors: TextIO, *, does: bool
) -> dict[str, Any]:
    """Read the whole file; then put its messages, if so ordered.

    Raises:
        InvalidMessage, MessageTooLarge: a line is not a valid message.
        NotAuthorized: ``put`` is missing on one of the addresses.
    """
    try:
        with file.open("rb") as lines:
            found = importing.check_file(lines, to, user)
            for line in found.first_bad:
                raise line.error
            done = 0
            if does and found.messages:
                lines.seek(0)
                with progress(errors, "Putting", found.messages) as bar:
                    done = importing.put(
                        importing.read(lines, to, user),
                        name_in_journal(user),
                        lambda more: bar.advance(bar.task_ids[0], more),
                    )
    except OSError as error:
        raise unreadable(file, error) from None
    return {"messages": found.messages, "to": found.addresses, "put": done}


def taken_in_words(told: dict[str, Any], *, does: bool) -> str:
    """A sentence about an import, or about what it would put."""
    begin = "Put" if does else "Nothing is done yet; --yes puts"
    where = ", ".join(told["to"]) or "nowhere"
    return f"{begin} {told['messages']:,} messages, to {where}."


def found_by(
    user: User | None, filters: Sequence[str]
) -> tuple[Keys, visible_search.Search]:
    """Messages that filters find on queues the user may browse, the oldest first."""
    search = visible_search.search(user, filters)
    held = authorities.held_by(user)
    within = {pk: name for pk, name in search.within.items() if held.on("browse", name)}
    search = replace(search, within=within)
    with finding.patiently(finding.PATIENCE):
        parts = list(finding.keys(search.filter, within=within))
    return [key for part in parts for key in part][::-1], search


def write(
    keys: Keys,
    search: visible_search.Search,
    sight: Sight,
    file: TextIO,
    errors: TextIO,
) -> int:
    """Write messages, one per line; return how many. A message on several queues is
    written once for each; one that has ended meanwhile is left out.
    """
    written = 0
    with progress(errors, "Writing", len(keys)) as bar:
        for part in parts_of(keys):
            rows = Message.objects.in_bulk([message_id for message_id, _ in part])
            veils = sight.veils(rows)
            for message_id, queue_id in part:
                if (row := rows.get(message_id)) is not None:
                    seen = {"queue": search.within[queue_id]}
                    veil = veils[message_id]
                    file.write(message_files.line(row, seen, veil) + "\n")
                    written += 1
            bar.advance(bar.task_ids[0], len(part))
    return written


def parts_of(keys: Keys) -> Iterator[Keys]:
    for start in range(0, len(keys), BATCH):
        yield keys[start : start + BATCH]
