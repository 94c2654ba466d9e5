"""Advisory locks of PostgreSQL: a process loses its lock when it dies.

These locks have keys of two integers; the owners of the broker have keys of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from broker.errors import PoolerHasLocks
from broker.queueing.processes import is_pooled
from dashboards import sql

SPACE = 0x7265706F  # the first integer of all keys: any number not used elsewhere
ARCHIVE = 0  # the lock of the archive; other numbers are ids of runs


@contextmanager
def attempted(number: int) -> Iterator[bool]:
    """Try to take a lock until the block ends; yield whether that succeeded.

    The connection holds the lock, not a transaction, so no transaction stays open.

    Raises:
        PoolerHasLocks: the connection is one of a pooler.
    """
    connection.ensure_connection()
    if is_pooled(connection.connection):
        raise PoolerHasLocks
    (held,) = sql.fetch_one("try_lock", space=SPACE, number=number)
    try:
        yield held
    finally:
        if held:
            sql.fetch_one("unlock", space=SPACE, number=number)


def is_held(number: int) -> bool:
    (held,) = sql.fetch_one("lock_is_held", space=SPACE, number=number)
    return bool(held)
