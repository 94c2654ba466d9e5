"""An old partition of messages, and what housekeeping does with it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection

from broker.queueing.put import put_many
from broker.sql import partitions
from broker.sql.partitions import MESSAGES
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_messages

TODAY = NOON.date()
WEEKS_LATER = NOON + timedelta(days=60)
OLD = 50  # the number of a partition of messages


def fill_old_partition(count: int) -> list[int]:
    """Messages of one partition; return their ids."""
    ids_go_on_at(OLD * MESSAGES)
    partitions.make_ahead(today=TODAY)
    receipts = put_many(make_messages(count), now=NOON)
    return [receipt.message_id for receipt in receipts]


def drop_old(now: datetime = WEEKS_LATER) -> None:
    """Housekeeping, when ids are no longer taken from the old partition."""
    ids_go_on_at((OLD + 1) * MESSAGES)
    partitions.drop_old(now=now)


def accept(queue: str, count: int) -> None:
    work = UnitOfWork(now=NOON)
    assert len(work.get(queue, count)) == count
    work.commit()


def read_the_journal() -> None:
    """As a fold does once the test's own transaction is over."""
    execute(
        "INSERT INTO broker_tally SELECT queue_id, kind, coalesce(came_from, 0),"
        " coalesce(went_to, 0), sum(n) FROM broker_event GROUP BY 1, 2, 3, 4"
    )
    execute("UPDATE broker_watermark SET xid = pg_current_xact_id()::text::bigint + 1")


def until_final() -> None:
    """Wait for whatever else writes in this cluster, as autovacuum does at times: what
    is committed by now is then read by every reader of the journal."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())")
        [begun_later] = cursor.fetchone()
        for _ in range(100_000):
            cursor.execute(
                "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s", [begun_later]
            )
            if cursor.fetchone() == (True,):
                return
    raise AssertionError("somebody has been writing for a long time")


def ids_go_on_at(first: int) -> None:
    """Unlike nextval, this is undone with the test's transaction."""
    execute(f"ALTER SEQUENCE broker_message_id_seq RESTART WITH {first}")


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
