"""Rewrite hot tables that have few live rows and many dead ones, or much free space.

While a transaction stays open in the database, vacuum cannot remove rows that were
deleted after its begin. Each get then reads over more of them, above all those of
messages that came back or were delayed. After the end of that transaction, the tables
and their indexes keep their size. So the live rows are copied out, the table is
truncated, and the rows are copied in, in one transaction of some milliseconds. It waits
for its lock only briefly, because other sessions wait behind it.

A transaction with an older snapshot (``REPEATABLE READ``) then finds the table empty,
unless it has used the table before: its lock prevents the rewriting.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing

import psycopg
from django.db import connection

from broker.queueing import processes
from broker.sql import vacuum

logger = logging.getLogger(__name__)

AGAIN_S = 10.0  # until the next try, if a table was in use
LIMITS = "SET LOCAL lock_timeout = '100ms'; SET LOCAL statement_timeout = '2s'"
NAME = "compaction"


class Tries:
    """When this process may try again."""

    next_s = 0.0


def compact(now_s: float | None = None) -> list[str]:
    """Rewrite all such tables; return the names of those that were rewritten.

    Args:
        now_s: the current time, for tests; this machine's clock when not given.
    """
    at_s = time.monotonic() if now_s is None else now_s
    if connection.in_atomic_block or at_s < Tries.next_s:
        return []
    tables = vacuum.compactable()
    if not tables:
        return []
    with closing(processes.connect(NAME)) as session:
        done = [table for table in tables if is_compacted(session, table)]
    if len(done) < len(tables):
        Tries.next_s = at_s + AGAIN_S
    return done


def is_compacted(session: psycopg.Connection, table: str) -> bool:
    """Rewrite a table; False: it is in use."""
    began = time.monotonic()
    try:
        with session.transaction():
            session.execute(LIMITS)
            count = rewrite(session, table)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
        logger.info("%s is compacted later: %s", table, error)
        return False
    took_ms = (time.monotonic() - began) * 1000
    logger.info("%s is compacted: %d rows, %.0f ms.", table, count, took_ms)
    return True


def rewrite(session: psycopg.Connection, table: str) -> int:
    """Truncate a table and put its rows back; return their number.

    Raises:
        RuntimeError: the number has changed; the caller must roll back.
    """
    assert table in vacuum.HOT
    session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
    with session.cursor() as cursor:
        with cursor.copy(f"COPY {table} TO STDOUT (FORMAT binary)".encode()) as out:
            blocks = [bytes(block) for block in out]
        count = cursor.rowcount
        cursor.execute(f"TRUNCATE {table}".encode())
        with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)".encode()) as back:
            for block in blocks:
                back.write(block)
        if cursor.rowcount != count:
            raise RuntimeError(f"{table}: {count} rows became {cursor.rowcount}")
    return count
