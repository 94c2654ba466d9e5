"""``backout rules``: rules for the dead letters of a queue."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from broker.acts.rules import read_rules
from broker.config.documents import LARGEST_BYTES
from broker.models import Queue, RuleTable
from broker.operations import rules as standing
from broker.security import authorities
from console.edges.commands import actors, printing
from console.edges.commands.options import Json, User, contents
from console.messages.dead_letter_query import names_for

Name = Annotated[str, Argument(help="The queue of dead letters.")]
File = Annotated[Path, Argument(help="A file with the rules.")]
SHOWN = ("queue", "mode", "revision", "changed_by", "changed_at", "acts_for", "trouble")


def list_all(self: Any, *, user: User = None, json: Json = False) -> None:
    """List the queues that have rules."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    every = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    seen = every.filter(queue__in=names_for(person)).order_by("queue__name")
    rows = [asdict(read_rules(one)) for one in seen]
    if not json:
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    self.tell_rows("tables", rows, as_json=json, empty="No queue has rules.")


def show(self: Any, name: Name, *, user: User = None, json: Json = False) -> None:
    """Print the rules of a queue."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    authorities.require(person, "inquire", name)
    found = standing.rules_of(name)
    lines = map(printing.in_words, found.text.splitlines())
    self.tell(asdict(read_rules(found)), "\n".join(lines), as_json=json)


def preview(
    self: Any, name: Name, file: File, *, user: User = None, json: Json = False
) -> None:
    """Check the rules of a file, and what each would do; nothing is saved."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    text = contents(file, LARGEST_BYTES).decode(errors="replace")
    queue: Queue = actors.queue(person, name)
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
    self.tell_rows("rules", rows=rules, as_json=json, empty="There is no rule in it.")
