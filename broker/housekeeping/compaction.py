"""Write hot tables anew that are large and nearly empty.

Vacuum makes space in a table free for its new rows, and an index keeps all its pages.
After an old transaction, a hot table may so have hundreds of megabytes for a few rows.
``VACUUM FULL`` writes these rows, and their indexes, into new files. Nobody can use the
table meanwhile, so it waits for its lock only briefly, and is given up if it takes
long.
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

EVERY_S = 10.0  # longest pause until the next try; each may stop others for a moment
LIMITS = "SET lock_timeout = '100ms'; SET statement_timeout = '2s'"
NAME = "compaction"


class Tries:
    """When this process last tried."""

    last_s = -EVERY_S


def compact(now_s: float | None = None) -> list[str]:
    """Write all such tables anew, at most once in ``EVERY_S``; return their names.

    Args:
        now_s: the current time, for tests; this machine's clock when not given.
    """
    at_s = time.monotonic() if now_s is None else now_s
    if connection.in_atomic_block or at_s - Tries.last_s < EVERY_S:
        return []
    tables = vacuum.oversized()
    if not tables:
        return []
    Tries.last_s = at_s
    with closing(processes.connect(NAME)) as session:
        session.execute(LIMITS)
        return [table for table in tables if is_compacted(session, table)]


def is_compacted(session: psycopg.Connection, table: str) -> bool:
    assert table in vacuum.HOT
    try:
        session.execute(f"VACUUM (FULL) {table}")
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
        logger.info("%s is compacted later: %s", table, error)
        return False
    logger.info("%s is compacted.", table)
    return True
