"""The subcommands for each kind of object, after MQSC and Artemis: ``create``,
``alter``, ``delete``, ``show`` and ``list``.

Source:
    IBM MQ, "MQSC commands"; ActiveMQ Artemis, ``artemis queue`` and ``address``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from django_typer.management import TyperCommand
from typer import Argument, Option

from broker.acts.queues import pause_queue, reset_counters, resume_queue
from broker.declarations import (
    Attribute,
    Declaration,
    ObjectKind,
    documents,
    every_kind,
    one_at_a_time,
    plan,
)
from broker.declarations.attributes import from_text
from broker.errors.settings import AlreadyDeclared, NoSuchObject
from broker.models import Queue
from console.accounts.declaring import permission, require_rights
from console.configuration.cli.declarations import Purge, write_value
from console.edges.commands import actors
from console.edges.commands import acts as commands
from console.edges.commands.actors import NOTHING
from console.edges.commands.options import Json, User, Yes, properties_of

EXAMPLES = {"_ms": "5s", "_s": "5min", "_bytes": "5MB"}


def add_groups(into: type[TyperCommand]) -> dict[str, Any]:
    """Add a group of subcommands for each kind of object to a command; by name."""
    return {kind.word: add_group(into, kind) for kind in every_kind()}


def add_group(into: type[TyperCommand], kind: ObjectKind) -> Any:
    def start(self: Any) -> None:
        pass

    start.__name__ = f"group_{kind.name}"
    start.__annotations__ = {}  # so that typer takes ``self`` for no option
    words = kind.plural.replace("_", " ").capitalize()
    made = into.group(name=kind.word, help=f"{words}: create, alter, delete, show.")(
        start
    )
    for name, options, run in (
        ("create", (*of_attributes(kind), REPLACE), create),
        ("alter", (*of_attributes(kind), UNSET, YES), alter),
        ("delete", (PURGE, YES) if kind.model is Queue else (YES,), delete),
        ("show", (), show),
    ):
        parameters = (SELF, *of_key(kind), *options, USER, JSON)
        made.command(name=name)(subcommand(kind, name, parameters, run))
    parameters = (SELF, USER, JSON)
    if kind.word not in LISTED_OTHERWISE:
        made.command(name="list")(subcommand(kind, "list", parameters, list_all))
    if kind.model is Queue:
        for name, act in ACTS_ON_QUEUES.items():
            made.command(name=name)(commands.subcommand(act))
    return made


def option(name: str, annotation: Any, *, default: Any = None) -> Parameter:
    return Parameter(
        name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


# kinds with another list, which shows their state
LISTED_OTHERWISE = {"bridge", "recurring"}
ACTS_ON_QUEUES = {
    "pause": pause_queue,
    "resume": resume_queue,
    "reset-counters": reset_counters,
}
SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
USER, JSON = option("user", User), option("json", Json, default=False)
YES = option("yes", Yes, default=False)
PURGE = option("purge", Purge, default=False)
Replace = Annotated[bool, Option("--replace", help="If it exists, alter it instead.")]
REPLACE = option("replace", Replace, default=False)
Unset = Annotated[
    list[str] | None, Option("--unset", help="Back to its default; repeatable.")
]
UNSET = option("unset", Unset)


def of_key(kind: ObjectKind) -> Iterator[Parameter]:
    for name in kind.keys:
        words = "user:NAME or group:NAME." if name == "principal" else "Which."
        yield Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Annotated[str, Argument(help=words)],
        )


def of_attributes(kind: ObjectKind) -> Iterator[Parameter]:
    for name, one in kind.attributes.items():
        yield option(name, Annotated[type_of(one), spelled(one)])


def type_of(one: Attribute) -> Any:
    many = list[str] | None
    return {bool: bool | None, list: many, dict: many}.get(one.type, str | None)


def spelled(one: Attribute) -> Any:
    """The option of an attribute."""
    words = one.short.replace("_", "-").removeprefix("is-")
    choices = f" {', '.join(one.choices)}." if one.choices and one.type is str else ""
    flags = f"--{words}/--no-{words}" if one.type is bool else f"--{words}"
    unit = f" With a unit, as {EXAMPLES[one.suffix]}." if one.suffix else ""
    form = " As name=text; repeatable." if one.type is dict else ""
    hidden = " - reads it from standard input." if one.is_secret else ""
    return Option(flags, help=f"{one.help}{choices}{unit}{form}{hidden}".strip())


def subcommand(
    kind: ObjectKind, name: str, parameters: Sequence[Parameter], run: Callable
) -> Callable:
    """A function with these parameters, from which its options are read."""

    def command(self: Any, **given: Any) -> None:
        key = tuple(given.pop(part) for part in kind.keys if part in given)
        person = actors.acting(given.pop("user"))
        run(self, kind, key, person, given)

    command.__name__ = f"{name}_{kind.name}"
    what = kind.plural.replace("_", " ") if name == "list" else f"one {kind.noun}"
    command.__doc__ = f"{name.capitalize()} {what}."
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters[1:]}
    return command


Given = dict[str, Any]
Key = tuple[str, ...]


def values_of(kind: ObjectKind, key: Key, given: Given) -> dict[str, Any]:
    """The attributes that were given; texts are read as what they are."""
    values: dict[str, Any] = {}
    for name, one in kind.attributes.items():
        value = given.get(name)
        if value is None or value == []:
            continue
        if one.is_secret and value == "-":
            value = sys.stdin.readline().rstrip("\n")
        if isinstance(value, list) and one.type is dict:
            value = properties_of(value)
        elif isinstance(value, str) or one.type is list:
            text = ",".join(value) if one.type is list else value
            value = from_text(one, text, name=one.short, where=f"--{one.short}")
        values[name] = value
    defaults = kind.defaults(key)
    for name in given.get("unset") or ():
        one = documents.known(kind, name, "--unset")
        values[one.name] = defaults.get(one.name, one.default)
    return values


def create(self: Any, kind: ObjectKind, key: Key, person: Any, given: Given) -> None:
    if kind.named(key).exists() and not given["replace"]:
        raise AlreadyDeclared(kind.noun, " ".join(key))
    do(self, Declaration(kind, key, values_of(kind, key, given)), person, given)


def alter(self: Any, kind: ObjectKind, key: Key, person: Any, given: Given) -> None:
    row_of(kind, key, person)
    do(self, Declaration(kind, key, values_of(kind, key, given)), person, given)


def delete(self: Any, kind: ObjectKind, key: Key, person: Any, given: Given) -> None:
    row_of(kind, key, person)
    purge = given.get("purge", False)
    do(self, Declaration(kind, key, absent=True, purge=purge), person, given)


def do(self: Any, one: Declaration, person: Any, given: Given) -> None:
    """Plan a change, and apply it; one that alters or deletes, only with ``--yes``."""
    with one_at_a_time():
        wanted = plan([one])
        require_rights(person, wanted.changes)
        does = given.get("yes", True) and bool(wanted.changes)
        self.carry_out(wanted, person, does=does, as_json=given["json"])
    if not wanted.changes and "replace" not in given:
        raise typer.Exit(NOTHING)


def row_of(kind: ObjectKind, key: Key, person: Any) -> Any:
    """The object of a key, if the user may see it."""
    row = kind.named(key).first()
    if row is None or not kind.is_visible(person, row):
        raise NoSuchObject(kind.noun, " ".join(key))
    return row


def show(self: Any, kind: ObjectKind, key: Key, person: Any, given: Given) -> None:
    actors.require(person, permission(kind, "view"))
    row = row_of(kind, key, person)
    answer = kind.describe(row)
    lines = [
        f"{name}: {write_value(value)}"
        for name, value in answer.items()
        if name not in kind.keys
    ]
    self.tell(answer, "\n".join(lines), as_json=given["json"])


def list_all(self: Any, kind: ObjectKind, _: Key, person: Any, given: Given) -> None:
    actors.require(person, permission(kind, "view"))
    rows = []
    for row in kind.visible_rows(person):
        key = kind.key_of(row)
        defaults = kind.defaults(key)
        own = {k: v for k, v in kind.values_of(row).items() if v != defaults[k]}
        said = ", ".join(f"{k} {v}" for k, v in own.items())
        named = dict(zip(kind.keys, key, strict=True))
        told = kind.describe(row) if given["json"] else named | {"attributes": said}
        rows.append(told)
    empty = f"There is no {kind.noun}."
    self.tell_rows(kind.plural, rows, as_json=given["json"], empty=empty)
