"""The database that is measured: made for it, emptied, vacuumed, checked, dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.sql import partitions
from tests.bench import pgmq, rabbit, rival
from tests.bench.live import QUEUE as LIVE
from tests.bench.workloads import ATTEMPTS, GRAVEYARD
from tests.make import make_queue, make_setting

QUEUES = (
    *("put", "get", "cycle", "poison", "once", "plain", "beside", "held", "deep"),
    *(LIVE, GRAVEYARD, "amqp", "failing", "failing in a loop", "loop"),
)
HOT = ("message", "ready", "delayed", "claim", "unit_of_work", "dead_letter", "event")
MOVED = ", ".join([*(f"broker_{table}" for table in HOT), "broker_tally", "bench_heap"])

LEAVE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend'"""


class WrongError(Exception):
    """What is in the database is not what was done to it."""


@contextmanager
def own_database() -> Iterator[str]:
    """A database beside the one that is configured; yields its name.

    What a killed measurement left behind is replaced.
    """
    configured = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"{configured}_bench"
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        prepare()
        yield name
    finally:
        fetch(LEAVE)
        if rabbit.is_here():
            rabbit.remove()
        connection.creation.destroy_test_db(configured, verbosity=0)


def prepare() -> None:
    for queue in QUEUES:
        make_queue(queue)
    for queue in ("poison", "failing", "failing in a loop"):
        make_setting(
            queue, max_delivery_attempts=ATTEMPTS, dead_letter_address=GRAVEYARD
        )
    make_setting("once", max_delivery_attempts=1, dead_letter_address=GRAVEYARD)
    fetch("CREATE TABLE bench_heap (body bytea NOT NULL)")
    rival.install()
    if rabbit.is_here():
        rabbit.install()
    if pgmq.is_here():
        pgmq.install()


def clear() -> None:
    """Begin anew: no message, no journal, no leavings of autovacuum."""
    fetch(f"TRUNCATE {MOVED}, procrastinate_jobs CASCADE")
    fetch("UPDATE broker_watermark SET xid = 0")
    partitions.make_ahead()
    if pgmq.is_here():
        pgmq.clear()
    if rabbit.is_here():
        rabbit.clear()


def settle_down() -> None:
    """What housekeeping does in its own time: statistics, maps, the tally."""
    journal.fold()
    fetch("VACUUM ANALYZE")


@contextmanager
def held_snapshot(*, with_id: bool = False) -> Iterator[None]:
    """Somebody reads, elsewhere, and does not end; or writes, and so has an id."""
    reader: psycopg.Connection = processes.connect()
    reader.execute("SET idle_in_transaction_session_timeout = 0")
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    # Takes the snapshot.
    reader.execute("SELECT pg_current_xact_id()" if with_id else "SELECT 1")
    try:
        yield
    finally:
        reader.close()


def check(expected: Counter[str], delayed: int = 0) -> None:
    """Compare what was sent less what was received with what is there.

    Raises:
        WrongError: they differ, or the consistency check finds something.
    """
    ready = Counter[str](
        dict(
            fetch(
                "SELECT queue.name, count(*) FROM broker_ready AS ready"
                " JOIN broker_queue AS queue ON queue.id = ready.queue_id GROUP BY 1"
            )
        )
    )
    if ready != +expected:
        raise WrongError(f"{dict(ready)} are ready and should be {dict(+expected)}.")
    ((waiting,),) = fetch("SELECT count(*) FROM broker_delayed")
    if waiting != delayed:
        raise WrongError(f"{waiting} are delayed and should be {delayed}.")
    if wrong := fsck.violations():
        raise WrongError(" ".join(violation.sentence for violation in wrong))


def size_mb(table: str) -> float:
    """Of a table with its indexes."""
    ((size,),) = fetch(f"SELECT pg_total_relation_size('{table}')")
    return float(size) / 2**20


def fetch(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []
