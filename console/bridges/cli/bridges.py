"""``backout bridge …``: bridges and links, after Open MQ's ``imqbridgemgr``.

Source:
    Open MQ, Administration Guide, "Bridge Manager Utility".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from django.core.management.base import CommandError
from django.db import transaction
from typer import Argument, Exit, Option

from broker.acts import DeclaredAct, act
from broker.acts.objects import find_link, visible_links
from broker.bridges import secrets
from broker.bridges.config import bridge_import
from broker.bridges.config.bridge_import import MODES, BridgeImportPreview
from broker.bridges.config.documents import stored
from broker.bridges.config.jmsbridge_writing import write
from broker.config.documents import LARGEST_BYTES
from broker.errors.bridges import CommandRefused, NoSuchBridge
from broker.formats.quantities import write_count
from broker.models import Link
from broker.security import authorities
from broker.security.users import User as Person
from console.bridges import documents
from console.bridges.documents import LOOK, TAKE_OVER, changes_document
from console.edges.commands import actors, printing
from console.edges.commands.actors import USAGE
from console.edges.commands.options import Json, Reason, User, Yes, contents
from console.edges.permissions import LINKS

NOTHING = 3
BridgeName = Annotated[str, Option("-bn", help="The name of the bridge.")]
LinkName = Annotated[
    str, Option("-ln", help="The name of the link; all of the bridge without it.")
]


def list_links(
    self: Any,
    *,
    bn: BridgeName = "",
    ln: LinkName = "",
    user: User = None,
    json: Json = False,
) -> None:
    """List links and their status."""
    person = actors.acting(user)
    actors.require(person, LINKS)
    rows = [documents.link_document(one) for one in links(person, bn, ln)]
    shown = rows if json else [row(one) for one in rows]
    self.tell_rows("links", shown, as_json=json, empty="There is no link.")


def order_of(one: DeclaredAct, words: str) -> Callable[..., None]:
    """An order as a subcommand: to one link, or to all links of a bridge."""

    def order(
        self: Any,
        *,
        bn: BridgeName,
        ln: LinkName = "",
        reason: Reason = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        rows = ordered(one, actors.acting(user), bn, ln, reason)
        empty = f"The bridge {bn} has no link."
        self.tell_rows("links", rows, as_json=json, empty=empty)

    order.__doc__ = words
    return order


def export_bridge(self: Any, *, bn: BridgeName, user: User = None) -> None:
    """Write a bridge to standard output in Open MQ's format; without passwords."""
    person = actors.acting(user)
    for permission in LOOK:
        actors.require(person, permission)
    self.stdout.write(write(stored(documents.bridge_of(bn))), ending="")


def import_bridge(
    self: Any,
    file: Annotated[Path, Argument(help="An Open MQ's document of a JMS bridge.")],
    *,
    mode: Annotated[
        str, Option(help="merge; replace also removes settings not in the file.")
    ] = "merge",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Show what a document would change; with --yes, make all changes or none."""
    found = taken_over(actors.acting(user), file, mode, does=yes)
    warnings = [str(one) for one in found.warnings]
    document = changes_document(found, applied=yes) | {"warnings": warnings}
    self.tell(document, in_words(found, did=yes), as_json=json)
    for one in warnings:
        self.stderr.write(one)
    if not found.changes_anything:
        raise Exit(NOTHING)


def rekey(self: Any, *, user: User = None, json: Json = False) -> None:
    """Encrypt all passwords again with the first key of BACKOUT_SECRET_KEYS."""
    actors.require(actors.acting(user), "broker.change_connectionfactory")
    count = secrets.rekey()
    words = f"{write_count(count, 'password')} encrypted with the first key."
    self.tell({"encrypted": count}, words, as_json=json)
    if not count:
        raise Exit(NOTHING)


def links(person: Person | None, bridge: str, link: str = "") -> list[Link]:
    """The chosen links: one, all of a bridge, or all.

    Raises:
        NoSuchBridge, NoSuchLink: there is none of this name that the user may see.
    """
    held = authorities.held_by(person)
    if link and not bridge:
        raise CommandError("Say which bridge has it, with -bn.", returncode=USAGE)
    if link:
        return [find_link(held, bridge, link)]
    if not bridge:
        return visible_links(held)
    found = visible_links(held, bridge__name=bridge)
    if not found and documents.bridge_of(bridge).links.exists():
        raise NoSuchBridge(bridge)
    return found


def row(one: dict[str, Any]) -> dict[str, Any]:
    """A table row of a link: Open MQ's columns and its progress."""
    names = ("bridge", "link", "state", "source", "target", "transacted", "waiting")
    return {
        **{name: one[name] for name in names},
        "sent": one["counts"]["sent"],
        "dead": one["counts"]["dead"],
        "waits_for": one["waits_for"],
        "error": one["error"],
    }


@transaction.atomic
def ordered(
    one: DeclaredAct, person: Person | None, bridge: str, link: str, reason: str
) -> list[dict[str, Any]]:
    """Give an order to one link, or to all links of a bridge that accept it.

    Raises:
        CommandRefused: not possible in the link's state, or for no link.
    """
    names = [link] if link else [each.name for each in links(person, bridge)]
    rows, refusals = [], []
    for name in names:
        try:
            answer = act(person, one.request(bridge, name, reason))
        except CommandRefused as refusal:
            refusals.append(refusal)
            state, why = refusal.state, refusal.why
        else:
            state, why = answer.state, "ordered" if answer.changed else "no effect"
        rows.append({"bridge": bridge, "link": name, "state": state, "outcome": why})
    if refusals and len(refusals) == len(names):
        raise refusals[0]
    return rows


def taken_over(
    user: Person | None, file: Path, mode: str, *, does: bool
) -> BridgeImportPreview:
    """The changes that a document makes, or made."""
    for permission in TAKE_OVER:
        actors.require(user, permission)
    chosen = next((one for one in MODES if one == mode), None)
    if chosen is None:
        raise CommandError(f"--mode is one of {', '.join(MODES)}.", returncode=USAGE)
    document = bridge_import.read(contents(file, LARGEST_BYTES))
    if does:
        return bridge_import.apply(document, chosen)
    return bridge_import.preview(document, chosen)


def in_words(found: BridgeImportPreview, *, did: bool) -> str:
    return "\n".join(lines(found, did=did))


def lines(found: BridgeImportPreview, *, did: bool) -> Iterator[str]:
    for one in found.changes:
        if one.deed != "unchanged":
            yield f"{one.deed} {one.kind} {printing.in_words(one.name)}"
            for field in one.differences:
                before, after = (
                    printing.in_words(value) for value in (field.before, field.after)
                )
                yield f"    {field.field}: {before or 'none'} → {after or 'none'}"
    for question in found.left_open:
        yield f"Left open, {question.where}: {question.what}"
    if not found.changes_anything:
        yield "There is nothing to do."
    elif not did:
        yield "Nothing is done yet; --yes does it."
