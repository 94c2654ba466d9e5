"""Queries as subcommands of ``manage.py backout``: tables, or JSON.

An answer that has a sentence, ``__str__``, begins with it; one that is a row itself, as
it names ``columns``, is a table of one row. Each field that holds rows is a table, of
those columns, if the class of its rows names some. Messages with bodies are printed one
by one. An answer that names in ``empty`` what to say without rows then exits with 3.
Where there is a next page, people are told its ``--after``, on standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any

import typer

from console.edges.answers import as_json
from console.edges.commands import actors, printing
from console.edges.commands.actors import NOTHING
from console.edges.commands.acts import SELF, parameter_of, read_values
from console.edges.commands.options import Json, User
from console.edges.queries import DeclaredQuery


def query_command(one: DeclaredQuery) -> Callable[..., None]:
    """A query as a function, from whose signature typer makes a command."""

    def command(self: Any, **given: Any) -> None:
        person, is_json = actors.acting(given.pop("user")), given.pop("json")
        answer = one(person, one.request(**read_values(one.fields, given)))
        if is_json:
            printing.as_json(self.out, as_json(one, answer))
        else:
            present(self, answer)
        if getattr(answer, "empty", "") and not any(tables_of(answer)):
            raise typer.Exit(NOTHING)

    parameters = [
        *map(parameter_of, one.fields),
        Parameter("user", Parameter.KEYWORD_ONLY, annotation=User, default=None),
        Parameter("json", Parameter.KEYWORD_ONLY, annotation=Json, default=False),
    ]
    parameters.sort(key=lambda one: one.kind)
    command.__name__ = one.name
    command.__doc__ = f"{one.sentence}\n\n{one.details}".strip()
    command.__signature__ = Signature([SELF, *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {field.name: field.annotation for field in parameters}
    return command


def present(command: Any, answer: Any) -> None:
    """Write an answer for people."""
    tables = list(tables_of(answer))
    if vars(type(answer)).get("__str__"):
        command.stdout.write(printing.lines(str(answer)))
    elif hasattr(answer, "columns"):
        printing.as_table(command.out, [cells_of(answer)])
    for rows in tables:
        is_whole = "body" in rows[0]
        show = printing.as_messages if is_whole else printing.as_table
        show(command.out, rows)
    if (following := getattr(answer, "next", None)) is not None:
        command.stderr.write(f"There are more: --after {following}")
    if not tables:
        command.stderr.write(getattr(answer, "empty", ""))


def tables_of(answer: Any) -> Iterator[list[dict[str, Any]]]:
    """The answer itself, if it is a message; the rows of each field that has some."""
    if hasattr(answer, "body"):
        yield [cells_of(answer)]
    for field in fields(answer):
        value = getattr(answer, field.name)
        rows = value if isinstance(value, list | tuple) else ()
        known = [
            one
            for one in rows
            if is_dataclass(one) and not getattr(one, "is_empty", False)
        ]
        if known:
            yield [cells_of(one) for one in known]


def cells_of(row: Any) -> dict[str, Any]:
    names = getattr(row, "columns", None) or [field.name for field in fields(row)]
    return {name: getattr(row, name) for name in names}
