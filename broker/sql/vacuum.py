"""Vacuuming the hot tables before the server would.

The rows of a hot table are few, and each is deleted soon; a message that is backed out
again and again leaves a dead one behind each time. Autovacuum looks once in its
naptime, a minute as a rule. By then the dead are many times the living, above all in an
index that is ordered by time, and gets walk over them.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection

from broker import sql

HOT = ("broker_ready", "broker_delayed", "broker_claim", "broker_unit_of_work")
FEW = 500  # dead rows that are no matter, however few live
PAGES = 16  # by which a table may grow, however short it was


def bloated() -> list[str]:
    """Those hot tables whose dead rows outgrow the living, or that grow fast."""
    return sql.fetch("bloated", str, tables=list(HOT), few=FEW, pages=PAGES)


def vacuum(tables: Iterable[str]) -> None:
    """Vacuum hot tables, whatever is known of them.

    A table that somebody else vacuums is left to them. Not inside a transaction, where
    nothing can be vacuumed: there it does nothing.
    """
    if connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        for table in tables:
            assert table in HOT
            cursor.execute(f"VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {table}")
