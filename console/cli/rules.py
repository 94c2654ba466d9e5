"""``backout rules``: rules for the dead letters of a queue."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from broker.config.advice import Advice
from broker.config.documents import LARGEST_BYTES
from broker.config.lint import advised
from broker.models import Queue, RuleTable
from broker.operations import rules as standing
from broker.operations.rules import Mode
from broker.security import authorities
from console.cli.uow import NOT_DONE
from console.edges import people, telling
from console.edges.options import Json, User, Yes, contents
from console.messages.dead_letter_query import names_for
from console.operations import rule_changes

Name = Annotated[str, Argument(help="The queue of dead letters.")]
File = Annotated[Path, Argument(help="A file with the rules.")]
Revision = Annotated[
    int | None, Option(help="Only if this is the revision that is stored.", min=0)
]
ModeName = Annotated[Mode, Argument(help="off, observe or active.")]


def list_all(self: Any, *, user: User = None, json: Json = False) -> None:
    """List the queues that have rules."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    every = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    seen = every.filter(queue__in=names_for(person)).order_by("queue__name")
    rows = [told(one) for one in seen]
    if not json:
        rows = [{k: v for k, v in row.items() if k != "text"} for row in rows]
    self.tell_rows("tables", rows, as_json=json, empty="No queue has rules.")


def show(self: Any, name: Name, *, user: User = None, json: Json = False) -> None:
    """Print the rules of a queue."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    authorities.require(person, "inquire", name)
    found = standing.rules_of(name)
    lines = map(telling.in_words, found.text.splitlines())
    self.tell(told(found), "\n".join(lines), as_json=json)


def save(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    name: Name,
    file: File,
    *,
    revision: Revision = None,
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Check the rules of a file, and what each would do; with --yes, save them."""
    person = people.somebody(user)
    people.require(person, rule_changes.CHANGE_RULES)
    text = contents(file, LARGEST_BYTES).decode(errors="replace")
    if yes:
        with advised() as warnings:
            row = rule_changes.save(person, name, text, revision)
        said = f"Saved as revision {row.revision}; the mode is {row.mode}."
        tell(self, row, said, warnings, as_json=json)
        return
    queue: Queue = people.queue(person, name, "set")
    found = standing.preview(standing.read(text, queue=name), queue)
    rules = [
        {
            "rule": one.number,
            "line": one.rule.line,
            "action": one.rule.action.value,
            "matched": one.matched,
            "acts": one.acts,
            "warnings": list(one.warnings),
        }
        for one in found.rules
    ]
    self.stderr.write(NOT_DONE)
    self.tell_rows("rules", rows=rules, as_json=json, empty="There is no rule in it.")


def switch(
    self: Any, name: Name, mode: ModeName, *, user: User = None, json: Json = False
) -> None:
    """Set rules to off, observe or active; active ones act with your authorities."""
    person = people.somebody(user)
    people.require(person, rule_changes.CHANGE_RULES)
    with advised() as warnings:
        row = rule_changes.change_mode(person, name, mode.value)
    said = f"The rules of {name} are {row.mode}."
    tell(self, row, said, warnings, as_json=json)


def tell(
    self: Any, row: RuleTable, said: str, found: list[Advice], *, as_json: bool
) -> None:
    warnings = [str(one) for one in found]
    self.tell(told(row) | {"warnings": warnings}, said, as_json=as_json)
    for one in warnings:
        self.stderr.write(one)


def told(row: RuleTable) -> dict[str, Any]:
    return {
        "queue": row.queue.name,
        "mode": row.mode,
        "revision": row.revision,
        "changed_by": row.changed_by.get_username() if row.changed_by else None,
        "changed_at": row.changed_at,
        "acts_for": row.acts_for.get_username() if row.acts_for else None,
        "trouble": row.trouble,
        "text": row.text,
    }
