"""The statements of the hot path: one a file, named after the function that runs it.

They run on Django's own connection, so that they join the caller's transaction, but as
prepared statements with parameters bound by the server. Values never become SQL text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.rows import tuple_row

Row = TypeVar("Row")

FOLDER = Path(__file__).parent
OF_ONE_MESSAGE = ("put_one", "get_one", "accept")
SHORT = 64 * 1024  # characters or bytes of a value


@cache
def statement(name: str) -> bytes:
    return (FOLDER / f"{name}.sql").read_bytes()


def fetch(name: str, row: Callable[..., Row], **parameters: Any) -> list[Row]:
    """Run a statement; make a ``row`` of each row it returns, in its order."""
    return [row(*values) for values in run(name, parameters)]


def fetch_one(name: str, **parameters: Any) -> tuple[Any, ...]:
    """Run a statement that returns exactly one row."""
    (values,) = run(name, parameters)
    return values


def run(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    cursors = kept.cursors_of(django.connection)
    cursor = cursors.pop(name, None) or psycopg.Cursor(
        django.connection, row_factory=tuple_row
    )
    with django.wrap_database_errors:
        cursor.execute(statement(name), parameters, prepare=True, binary=True)
        rows = cursor.fetchall()
    if name in OF_ONE_MESSAGE and is_short([*parameters.values(), *chain(*rows)]):
        cursors[name] = cursor
    else:
        cursor.close()
    return rows


class Kept(threading.local):
    """The cursors of this thread that remember how the values of a statement travel,
    which is a third of a client's time for one message."""

    def __init__(self) -> None:
        self.line: psycopg.Connection | None = None
        self.cursors: dict[str, psycopg.Cursor[tuple[Any, ...]]] = {}

    def cursors_of(
        self, line: psycopg.Connection
    ) -> dict[str, psycopg.Cursor[tuple[Any, ...]]]:
        if self.line is not line:
            self.line, self.cursors = line, {}
        return self.cursors


kept = Kept()


def is_short(values: Iterable[Any]) -> bool:
    """Whether a cursor may be kept, which holds what it sent and got last."""
    return all(len(v) <= SHORT for v in values if isinstance(v, (bytes, str)))
