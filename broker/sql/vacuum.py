"""Vacuum the hot tables earlier than autovacuum does.

A hot table has few rows, and each is deleted soon. A message that is backed out
repeatedly leaves a dead row each time. Autovacuum checks once in its naptime, usually a
minute. By then there are many times more dead rows than live ones, above all in an
index ordered by time, and gets must read over them.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection

from broker import sql

HOT = ("broker_ready", "broker_delayed", "broker_claim", "broker_unit_of_work")
FEW = 500  # number of dead rows that is always tolerated
PAGES = 16  # growth in pages that is always tolerated


def bloated() -> list[str]:
    """The hot tables that have too many dead rows, or grow fast."""
    return sql.fetch("bloated", str, tables=list(HOT), few=FEW, pages=PAGES)


def vacuum(tables: Iterable[str]) -> None:
    """Vacuum hot tables.

    A table that another process vacuums is skipped. Inside a transaction, where VACUUM
    is not possible, the function does nothing.
    """
    if connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        for table in tables:
            assert table in HOT
            cursor.execute(f"VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {table}")
