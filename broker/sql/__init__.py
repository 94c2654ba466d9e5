"""The statements of the hot path: one a file, named after the function that runs it.

They run on Django's own connection, so that they join the caller's transaction, but as
prepared statements with parameters bound by the server. Values never become SQL text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import connection
from psycopg.rows import tuple_row

Row = TypeVar("Row")

FOLDER = Path(__file__).parent


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
    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        psycopg.Cursor(connection.connection, row_factory=tuple_row) as cursor,
    ):
        cursor.execute(statement(name), parameters, prepare=True, binary=True)
        return cursor.fetchall()
