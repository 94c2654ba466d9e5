"""Statements that the ORM cannot express: one file for each, named by its result."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection

FOLDER = Path(__file__).parent


@cache
def statement(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text()


def fetch(name: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement(name), parameters)
        return [tuple(row) for row in cursor.fetchall()]


def fetch_one(name: str, **parameters: Any) -> tuple[Any, ...]:
    """Run a statement that returns exactly one row."""
    (row,) = fetch(name, **parameters)
    return row
