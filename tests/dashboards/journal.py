"""A journal written by hand, committed, and waited for until it is final."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import psycopg
from django.db import connection

from broker.models import Kind, Place, Queue
from dashboards.pipeline import locks
from dashboards.pipeline.fields import rows
from tests.make import NOON

INSERT = """
    INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, ids, detail)
    VALUES (%s, %s, cardinality(%s::bigint[]), %s, %s, %s, %s::bigint[],
            jsonb_build_object('cause', %s::text))
    RETURNING xid
"""
XMIN = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


def record(
    queue: Queue,
    ids: Sequence[int],
    *,
    cause: str = "EXPIRED",
    at: datetime = NOON,
    kind: Kind = Kind.DEAD_LETTER,
    way: tuple[Place | None, Place | None] = (Place.CLAIMED, None),
    by: psycopg.Connection | None = None,
) -> int:
    """Add an event, on another connection if one is given; its transaction's id."""
    ids = list(ids)
    row = (at, queue.pk, ids, kind, *way, ids, cause)
    if by:
        [xid] = by.execute(INSERT, row).fetchone() or ()
    else:
        with connection.cursor() as cursor:
            cursor.execute(INSERT, row)
            [xid] = cursor.fetchone()
    return int(xid)


def until_final(xid: int) -> None:
    """Wait for whatever else writes in this cluster, as housekeeping does at times."""
    with connection.cursor() as cursor:
        for _ in range(100_000):
            cursor.execute(XMIN)
            if cursor.fetchone()[0] > xid:
                return
    raise AssertionError("somebody has been writing for a long time")


def other_connection() -> psycopg.Connection:
    return psycopg.connect(rows.dsn())


@contextmanager
def held_elsewhere(number: int) -> Iterator[None]:
    """A lock of reports that another process has, as long as the block lasts."""
    with other_connection() as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", [locks.SPACE, number])
        yield
        other.execute("SELECT pg_advisory_unlock(%s, %s)", [locks.SPACE, number])
