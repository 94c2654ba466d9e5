"""``backout apply``, ``export`` and ``convert``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from django.core.management.base import CommandError
from django_typer.management import TyperCommand, command
from typer import Argument, Option

from broker.acts.declaring import name_in_journal
from broker.declarations import (
    ChangePlan,
    ObjectChange,
    advise,
    apply,
    converters,
    documents,
    every_kind,
    one_at_a_time,
    planning,
)
from console.accounts.declaring import permission, require_rights
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.edges.commands.options import Json, User, Yes, contents

CHANGES = 4  # exit code of --plan if there is something to change
SIGNS = {"create": "+", "alter": "~", "delete": "-"}
Purge = Annotated[
    bool, Option("--purge", help="Messages of deleted queues go to the discard bin.")
]
File = Annotated[Path, Argument(help="The file.")]


class DeclarationCommands(TyperCommand):
    """The subcommands for files; the command ``backout`` inherits them."""

    def tell(self, told: Any, sentence: str, *, as_json: bool) -> None:
        raise NotImplementedError

    @command()
    def apply(  # noqa: PLR0913
        self,
        file: File = Path("backout.toml"),
        *,
        plan: Annotated[
            bool, Option("--plan", help="Only show; exit code 4 if something changes.")
        ] = False,
        prune: Annotated[
            bool,
            Option("--prune", help="Delete what the tables of the file do not have."),
        ] = False,
        purge: Purge = False,
        user: User = None,
        yes: Yes = False,
        json: Json = False,
    ) -> None:
        """Make queues, addresses, settings and rights as a file declares them."""
        person = actors.acting(user)
        found, kinds = documents.read(contents(file, documents.LARGEST_BYTES))
        asks = sys.stdin.isatty() and not (yes or plan or json)
        with one_at_a_time() if yes and not plan else nullcontext():
            wanted = planning.plan(found, prune=kinds if prune else (), purge=purge)
            require_rights(person, wanted.changes)
            does = yes and not plan
            if asks and wanted.changes:
                self.tell({}, in_words(wanted, applied=None), as_json=False)
                does = typer.confirm("Apply these changes?")
            self.carry_out(wanted, person, does=does, as_json=json)
        if asks and wanted.changes and not does:
            raise typer.Exit(actors.REFUSED)
        if plan and wanted.changes:
            raise typer.Exit(CHANGES)

    @command()
    def export(self, user: User = None) -> None:
        """Write what is declared now, as a file for ``apply``."""
        person = actors.acting(user)
        for kind in every_kind():
            actors.require(person, permission(kind, "view"))
        self.tell({}, documents.export().rstrip("\n"), as_json=False)

    @command()
    def convert(
        self,
        form: Annotated[str, Argument(help=", ".join(converters.FORMS))],
        file: File,
    ) -> None:
        """Write the definitions of another broker as a file for ``apply``."""
        if form not in converters.FORMS:
            forms = ", ".join(converters.FORMS)
            raise CommandError(f"The forms are: {forms}.", returncode=USAGE)
        found = converters.read(form, contents(file, converters.LARGEST_BYTES))
        text = converters.in_toml(found, form, source=file.name)
        self.tell({}, text.rstrip("\n"), as_json=False)
        # not to standard output: that often goes into a file
        self.stderr.write(found.summary)

    def carry_out(
        self, wanted: ChangePlan, person: Any, *, does: bool, as_json: bool
    ) -> None:
        """Apply a plan, if so ordered, and show it."""
        warned = [str(one) for one in advise(wanted)]
        if does:
            name = name_in_journal(person)
            apply(wanted, actor=name)
        changes = [change_document(one) for one in wanted.changes]
        words = in_words(wanted, applied=does)
        answer = {"applied": does, "changes": changes, "warnings": warned}
        self.tell(answer, words, as_json=as_json)
        for one in warned:
            self.stderr.write(one)


def change_document(one: ObjectChange) -> dict[str, Any]:
    return {
        "verb": one.verb,
        "kind": one.kind.name,
        "key": " ".join(one.key),
        "messages": one.messages,
        "differences": [
            {"attribute": part.field, "before": part.before, "after": part.after}
            for part in one.differences
        ],
    }


def in_words(wanted: ChangePlan, *, applied: bool | None) -> str:
    """A plan as text; ``applied`` is None before it is asked."""
    if not wanted.changes:
        return "There is nothing to change."
    lines = []
    for change in wanted.changes:
        lines.append(f"{SIGNS[change.verb]} {change.kind.name} {' '.join(change.key)}")
        if change.messages:
            where = "to the discard bin" if change.purge else "refused without --purge"
            noun = "message" if change.messages == 1 else "messages"
            lines[-1] += f"  ({change.messages:,} {noun}: {where})"
        for part in change.differences:
            before = "" if change.verb == "create" else f"{write_value(part.before)} → "
            after = "" if change.verb == "delete" else write_value(part.after)
            lines.append(f"    {part.field}: {before}{after}".removesuffix(" → "))
    ends = {True: "Done.", False: "Nothing is done yet; --yes does it."}
    return "\n".join([*lines, *([] if applied is None else [ends[applied]])])


def write_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "nothing"
    return "not set" if value is None else repr(value)
