"""The SQL statements of the broker: one per file, in folders named after the packages
that run them. File names are unique. ``schema.sql`` describes the tables.

Statements run on Django's connection, so they join the caller's transaction. They are
prepared statements with parameters bound by the server; values never become SQL text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import Error as DatabaseError
from psycopg.rows import tuple_row
from psycopg.sql import Composed

from broker.sql.lines import connected
from broker.sql.prepared_statements import keep_over_rollbacks
from broker.sql.statements import Statement, new_cursor
from broker.sql.users import of_project

Row = TypeVar("Row")

FOLDER = Path(__file__).parent
FILES = {path.stem: path for path in sorted(FOLDER.glob("*/*.sql"))}
# Statements that run for each message.
HOT = {
    *("put", "put_one", "get", "get_each", "accept", "accept_returning"),
    *("put_back", "redeliver", "copy", "copy_one"),
    *("accept, get", "accept, get_each", "accept_returning, get_each"),
    *("put_back, get_each", "copy, get_each", "copy_one, get_each"),
}
LAST_SELECT = b"\n)\nSELECT "


@cache
def statement(name: str) -> bytes:
    """The text of a file without comment lines and indentation.

    Two names, with a comma, are one statement that does both; its rows are those of the
    second. Both see the tables as they were before, so neither may depend on what the
    other one changes; and no name after WITH may be in both.
    """
    if ", " in name:
        first, second = map(statement, name.split(", "))
        begins, _, _ = first.rpartition(LAST_SELECT)
        return begins + b"\n),\n" + second.removeprefix(b"WITH ")
    lines = map(bytes.strip, FILES[name].read_bytes().splitlines())
    return of_project(b"\n".join(one for one in lines if not one.startswith(b"--")))


def fetch(name: str, row: Callable[..., Row], **parameters: Any) -> list[Row]:
    """Run a statement; return its rows as ``row`` objects, in order."""
    return [row(*values) for values in run(name, parameters)]


def fetch_one(name: str, **parameters: Any) -> tuple[Any, ...]:
    """Run a statement that returns exactly one row."""
    (values,) = run(name, parameters)
    return values


def database_now() -> datetime:
    """The current time of the database, the only clock by which the broker decides; one
    round trip."""
    (moment,) = fetch_one("now")
    assert isinstance(moment, datetime)
    return moment


def last_write() -> int:
    """The number of the last transaction, of any session, that wrote and has ended. The
    difference of two readings is the number of such transactions between them."""
    (number,) = fetch_one("last_write")
    return int(number)


def run(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    django = connected()
    line, text = django.connection, statement(name)
    statements = mine.on(line)
    with django.wrap_database_errors:
        if name not in HOT:
            with new_cursor(line) as cursor:
                cursor.execute(text, parameters, prepare=True, binary=True)
                return cursor.fetchall()
        if (known := statements.get(text)) is None:
            known = statements[text] = Statement(text, line)
        return known.run(parameters)


def is_refusal(error: DatabaseError) -> bool:
    """Whether a statement has refused its request: it then divides by zero, which
    undoes the statement."""
    return isinstance(error.__cause__, psycopg.errors.DivisionByZero)


def is_duplicate(error: DatabaseError) -> bool:
    """Whether a row has a key that another row has."""
    return isinstance(error.__cause__, psycopg.errors.UniqueViolation)


def ask(statement: Composed, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement that was composed for this call; the statement is not
    prepared."""
    django = connected()
    with (
        django.wrap_database_errors,
        psycopg.Cursor(django.connection, row_factory=tuple_row) as cursor,
    ):
        cursor.execute(statement, parameters, prepare=False, binary=True)
        return cursor.fetchall()


class HotStatements(threading.local):
    """The hot statements of this thread, by their texts."""

    def __init__(self) -> None:
        self.line: psycopg.Connection | None = None
        self.statements: dict[bytes, Statement] = {}

    def on(self, line: psycopg.Connection) -> dict[bytes, Statement]:
        if self.line is not line:
            self.line, self.statements = line, {}
            keep_over_rollbacks(line)
        return self.statements


mine = HotStatements()
