"""The SQL statements of the broker: one per file, in folders named after the packages
that run them. File names are unique. ``schema.sql`` describes the tables.

Statements run on Django's connection, so they join the caller's transaction. They are
prepared statements with parameters bound by the server; values never become SQL text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as DatabaseError
from psycopg.abc import Buffer
from psycopg.rows import tuple_row
from psycopg.sql import Composed
from psycopg.types.json import JsonbBinaryLoader

from broker.sql.prepared_statements import keep_over_rollbacks
from broker.sql.users import of_project

Row = TypeVar("Row")

FOLDER = Path(__file__).parent
FILES = {path.stem: path for path in sorted(FOLDER.glob("*/*.sql"))}
KEPT = ("put", "put_one", "get", "get_one", "accept", "accept_returning")
# A cursor is kept only if its parameters and rows have at most this many characters or
# bytes.
LITTLE = 64 * 1024
JSONB = psycopg.postgres.types["jsonb"].oid
NO_KEYS = b"\x01{}"  # an empty JSON object in PostgreSQL's binary format
# Most values whose sizes are added up; for more, this costs more than a kept cursor
# saves.
FEW = 250


@cache
def statement(name: str) -> bytes:
    """The text of a file without comment lines and indentation.

    psycopg caches the positions of parameters in statements of up to 4,096 bytes;
    finding them each time takes a third of a millisecond.
    """
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


def run(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    cursors = kept.cursors_of(django.connection)
    cursor = cursors.pop(name, None) or new_cursor(django.connection)
    with django.wrap_database_errors:
        cursor.execute(statement(name), parameters, prepare=True, binary=True)
        rows = cursor.fetchall()
    if name in KEPT and is_little(parameters, rows):
        cursors[name] = cursor
    else:
        cursor.close()
    return rows


def is_refusal(error: DatabaseError) -> bool:
    """Whether a statement has refused its request: it then divides by zero, which
    undoes the statement."""
    return isinstance(error.__cause__, psycopg.errors.DivisionByZero)


def is_duplicate(error: DatabaseError) -> bool:
    """Whether a row has a key that another row has."""
    return isinstance(error.__cause__, psycopg.errors.UniqueViolation)


def new_cursor(line: psycopg.Connection) -> psycopg.Cursor[tuple[Any, ...]]:
    cursor = psycopg.Cursor(line, row_factory=tuple_row)
    cursor.adapters.register_loader(JSONB, ObjectLoader)
    return cursor


class ObjectLoader(JsonbBinaryLoader):
    """Loads JSON values. Most are the empty properties of a message; parsing these
    would take a fifth of a client's time."""

    def load(self, data: Buffer) -> Any:
        return {} if data == NO_KEYS else super().load(data)


def ask(statement: Composed, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement that was composed for this call; the statement is not
    prepared."""
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    with (
        django.wrap_database_errors,
        psycopg.Cursor(django.connection, row_factory=tuple_row) as cursor,
    ):
        cursor.execute(statement, parameters, prepare=False, binary=True)
        return cursor.fetchall()


class CachedCursors(threading.local):
    """Cursors of this thread, kept because they cache how to convert the values of a
    statement. This saves a tenth of a millisecond, a third of a client's time for one
    message."""

    def __init__(self) -> None:
        self.line: psycopg.Connection | None = None
        self.cursors: dict[str, psycopg.Cursor[tuple[Any, ...]]] = {}

    def cursors_of(
        self, line: psycopg.Connection
    ) -> dict[str, psycopg.Cursor[tuple[Any, ...]]]:
        if self.line is not line:
            self.line, self.cursors = line, {}
            keep_over_rollbacks(line)
        return self.cursors


kept = CachedCursors()


def is_little(parameters: dict[str, Any], rows: list[tuple[Any, ...]]) -> bool:
    """Whether a cursor may be kept: its last parameters and rows, which it keeps, are
    small."""
    if sum(map(len, rows)) > FEW:
        return False
    size = weight(parameters.values())
    for row in rows:
        size += weight(row)
    return size <= LITTLE


def weight(values: Iterable[Any]) -> int:
    """The size of values in characters or bytes; a number has size 0, and a list that
    is too long to be measured is over the limit. One loop: it runs for each message."""
    size = 0
    for value in values:
        if isinstance(value, (bytes, str)):
            size += len(value)
        elif isinstance(value, list) and value and not isinstance(value[0], int):
            size += weight(value) if len(value) <= FEW else LITTLE + 1
    return size
