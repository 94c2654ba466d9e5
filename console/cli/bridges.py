"""``backout bridge …``: bridges and links, after Open MQ's ``imqbridgemgr``.

Source:
    Open MQ, Administration Guide, "Bridge Manager Utility".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from django.core.management.base import CommandError
from django_typer.management import TyperCommand, group
from typer import Argument, Exit, Option

from broker.bridges import secrets
from broker.bridges.commands import command, link_of
from broker.bridges.config import bridge_import
from broker.bridges.config.bridge_import import MODES, BridgeImportPreview
from broker.bridges.config.documents import stored
from broker.bridges.config.jmsbridge_writing import write
from broker.bridges.states import Command
from broker.config.documents import LARGEST_BYTES
from broker.errors.bridges import CommandRefused
from broker.formats.quantities import write_count
from broker.models import Link
from broker.security.users import User as Person
from console.bridge_pages import documents
from console.bridge_pages.documents import LOOK, TAKE_OVER, changes_told
from console.edges import people, telling
from console.edges.options import Json, Reason, User, Yes, contents
from console.edges.people import USAGE

NOTHING = 3
ABOUT = ("bridge", "status", "source_factory", "source", "target_factory", "target")
BridgeName = Annotated[str, Option("-bn", help="The name of the bridge.")]
LinkName = Annotated[
    str, Option("-ln", help="The name of the link; all of the bridge without it.")
]


class BridgeCommands(TyperCommand):
    """The subcommands of ``bridge``; the command ``backout`` inherits them."""

    def tell(self, told: Any, sentence: str, *, as_json: bool) -> None:
        raise NotImplementedError

    def tell_rows(
        self, name: str, rows: list[dict[str, Any]], *, as_json: bool, empty: str
    ) -> None:
        raise NotImplementedError

    @group(help="Bridges and their links.")
    def bridge(self) -> None:
        pass

    @bridge.command(name="list")
    def list_links(
        self,
        *,
        bn: BridgeName = "",
        ln: LinkName = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        """List links and their status."""
        people.require(people.acting(user), documents.VIEW)
        rows = [documents.told(one) for one in links(bn, ln)]
        shown = rows if json else [row(one) for one in rows]
        self.tell_rows("links", shown, as_json=json, empty="There is no link.")

    @bridge.command()
    def start(
        self,
        *,
        bn: BridgeName,
        ln: LinkName = "",
        reason: Reason = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        """Start a link, or all enabled links of a bridge; paused links are resumed."""
        self.order(Command.START, bn, ln, reason, user, as_json=json)

    @bridge.command()
    def pause(
        self,
        *,
        bn: BridgeName,
        ln: LinkName = "",
        reason: Reason = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        """Pause a link, or all running links of a bridge."""
        self.order(Command.PAUSE, bn, ln, reason, user, as_json=json)

    @bridge.command()
    def resume(
        self,
        *,
        bn: BridgeName,
        ln: LinkName = "",
        reason: Reason = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        """Resume a link, or all paused links of a bridge."""
        self.order(Command.RESUME, bn, ln, reason, user, as_json=json)

    @bridge.command()
    def stop(
        self,
        *,
        bn: BridgeName,
        ln: LinkName = "",
        reason: Reason = "",
        user: User = None,
        json: Json = False,
    ) -> None:
        """Stop a link, or all started links of a bridge."""
        self.order(Command.STOP, bn, ln, reason, user, as_json=json)

    def order(
        self,
        what: Command,
        bridge: str,
        link: str,
        reason: str,
        user: str | None,
        *,
        as_json: bool,
    ) -> None:
        people.require(people.acting(user), documents.OPERATE)
        rows = ordered(what, bridge, link, reason)
        empty = f"The bridge {bridge} has no link."
        self.tell_rows("links", rows, as_json=as_json, empty=empty)

    @bridge.command(name="export")
    def export_bridge(self, *, bn: BridgeName, user: User = None) -> None:
        """Write a bridge to standard output in Open MQ's format; without passwords."""
        person = people.acting(user)
        for permission in LOOK:
            people.require(person, permission)
        self.stdout.write(write(stored(documents.bridge_of(bn))), ending="")

    @bridge.command(name="import")
    def import_bridge(
        self,
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
        found = taken_over(people.acting(user), file, mode, does=yes)
        warnings = [str(one) for one in found.warnings]
        document = changes_told(found, applied=yes) | {"warnings": warnings}
        self.tell(document, in_words(found, did=yes), as_json=json)
        for one in warnings:
            self.stderr.write(one)
        if not found.changes_anything:
            raise Exit(NOTHING)

    @bridge.command()
    def rekey(self, *, user: User = None, json: Json = False) -> None:
        """Encrypt all passwords again with the first key of BACKOUT_SECRET_KEYS."""
        people.require(people.acting(user), "broker.change_connectionfactory")
        count = secrets.rekey()
        words = f"{write_count(count, 'password')} encrypted with the first key."
        self.tell({"encrypted": count}, words, as_json=json)
        if not count:
            raise Exit(NOTHING)


def links(bridge: str, link: str) -> list[Link]:
    """The chosen links: one, all of a bridge, or all.

    Raises:
        NoSuchBridge, NoSuchLink: there is none of this name.
    """
    if link and not bridge:
        raise CommandError("Say which bridge has it, with -bn.", returncode=USAGE)
    if link:
        return [link_of(bridge, link)]
    every = Link.objects.select_related(*ABOUT)
    return list(every.filter(bridge=documents.bridge_of(bridge)) if bridge else every)


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


def ordered(what: Command, bridge: str, link: str, reason: str) -> list[dict[str, Any]]:
    """Give an order to one link, or to all links of a bridge that accept it.

    Raises:
        CommandRefused: not possible in the link's state, or for no link.
    """
    meant = links(bridge, link)
    rows, refusals = [], []
    for one in meant:
        try:
            changed = command(one, what, reason=reason)
        except CommandRefused as refusal:
            refusals.append(refusal)
            why = refusal.why
        else:
            why = "ordered" if changed else "no effect"
        state = documents.told(link_of(one.bridge.name, one.name))["state"]
        rows.append(
            {"bridge": bridge, "link": one.name, "state": state, "outcome": why}
        )
    if refusals and len(refusals) == len(meant):
        raise refusals[0]
    return rows


def taken_over(
    user: Person | None, file: Path, mode: str, *, does: bool
) -> BridgeImportPreview:
    """The changes that a document makes, or made."""
    for permission in TAKE_OVER:
        people.require(user, permission)
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
            yield f"{one.deed} {one.kind} {telling.in_words(one.name)}"
            for field in one.differences:
                before, after = (
                    telling.in_words(value) for value in (field.before, field.after)
                )
                yield f"    {field.field}: {before or 'none'} → {after or 'none'}"
    for question in found.left_open:
        yield f"Left open, {question.where}: {question.what}"
    if not found.changes_anything:
        yield "There is nothing to do."
    elif not did:
        yield "Nothing is done yet; --yes does it."
