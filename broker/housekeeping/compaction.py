"""Write hot tables anew that have few live rows and many dead ones, or much free space.

While a transaction stays open anywhere in the database, vacuum cannot remove what died
after its begin. Each get then walks over more dead entries, above all of messages that
came back or were delayed. After its end, the tables and their indexes stay as large as
they have become. So the live rows are copied out, the table is truncated, and the rows
are copied in, in one transaction, which takes milliseconds. It waits for its lock only
briefly, as all others wait behind it.

A transaction with a snapshot from before (``REPEATABLE READ``) finds the table empty,
unless it has used the table before: then it has a lock, and is not disturbed.
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

AGAIN_S = 10.0  # until the next try, if a lock was not to be had
LIMITS = "SET LOCAL lock_timeout = '100ms'; SET LOCAL statement_timeout = '2s'"
NAME = "compaction"


class Tries:
    """When this process may try again."""

    next_s = 0.0


def compact(now_s: float | None = None) -> list[str]:
    """Write all such tables anew; return the names of those that are.

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
    """Write a table anew; False: it is in use."""
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
        RuntimeError: it is another one than before; the caller must roll back.
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
