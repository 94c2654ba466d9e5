"""Vacuum the hot tables earlier than autovacuum does.

A hot table has few rows, and each is deleted soon. A message that is backed out
repeatedly leaves a dead row each time. Autovacuum checks once in its naptime, usually a
minute. By then there are many times more dead rows than live ones, above all in an
index ordered by time, and gets must read over them.

While a transaction stays open, vacuum cannot remove rows that were deleted after its
begin, and only reads a table that grows. So if a table is bloated after its vacuum, it
is not vacuumed again for ``REST`` times as long as that took.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from django.db import connection

from broker import sql

HOT = ("broker_ready", "broker_delayed", "broker_claim", "broker_unit_of_work")
FEW = 500  # number of dead rows that is always tolerated
PAGES = 16  # growth in pages that is always tolerated
REST = 50  # pause after a vacuum that removed too little, in times of its length
MANY_DEAD = 20_000  # number of dead rows at which a table is rewritten
MOST_LIVE = 10_000  # number of live rows up to which it is
ALLOWED_BYTES = 16 * 2**20  # size of a table that is always tolerated
ROW_BYTES = 8192  # size that is tolerated for each live row

RESTS_UNTIL: dict[str, float] = {}  # by table, monotonic


def bloated() -> list[str]:
    """The hot tables that have too many dead rows, or grow fast."""
    return sql.fetch("bloated", str, tables=list(HOT), few=FEW, pages=PAGES)


def compactable() -> list[str]:
    """The hot tables that are to be rewritten (``housekeeping.compaction``)."""
    return sql.fetch(
        "compactable",
        str,
        tables=list(HOT),
        few=FEW,
        many_dead=MANY_DEAD,
        most_live=MOST_LIVE,
        allowed=ALLOWED_BYTES,
        row_bytes=ROW_BYTES,
    )


def vacuum(tables: Iterable[str]) -> None:
    """Vacuum hot tables.

    A table that rests, or that another process vacuums, is skipped. Inside a
    transaction, where VACUUM is not possible, the function does nothing.
    """
    if connection.in_atomic_block:
        return
    began = time.monotonic()
    took = {table: vacuumed(table) for table in tables if not rests(table, began)}
    left = bloated() if took else []
    now = time.monotonic()
    RESTS_UNTIL.update(
        {table: now + REST * took[table] for table in left if table in took}
    )


def rests(table: str, now: float) -> bool:
    return RESTS_UNTIL.get(table, now) > now


def vacuumed(table: str) -> float:
    """Vacuum one table; return how many seconds that took."""
    assert table in HOT
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {table}")
    return time.monotonic() - began
