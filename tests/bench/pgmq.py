"""PGMQ, a queue of SQL functions in PostgreSQL, where its SQL is: ``BENCH_PGMQ`` names
the file ``pgmq.sql``, which installs as plain functions.

Its calls are prepared statements. A message that is deleted when it is done leaves no
history, which favours it; one that is archived is kept, as it is here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from broker.queueing import processes
from tests.bench.body import BODY

FILE = os.environ.get("BENCH_PGMQ", "")
SEND = "SELECT pgmq.send_batch(%b, %b::jsonb[])"
READ = "SELECT msg_id, message FROM pgmq.read(%b, 30, %b)"
DELETE = "SELECT pgmq.delete(%b, %b::bigint[])"
ARCHIVE = "SELECT pgmq.archive(%b, %b::bigint[])"
# Visible at once, as after a failure.
GIVE_BACK = "SELECT pgmq.set_vt(%b, id, 0) FROM unnest(%b::bigint[]) AS failed (id)"
PLAIN, FAILING, DEAD = "bench", "bench_failing", "bench_dead"


def is_here() -> bool:
    return bool(FILE)


def install() -> None:
    connect().execute(Path(FILE).read_bytes())
    for queue in (PLAIN, FAILING, DEAD):
        connect().execute("SELECT pgmq.create(%s)", [queue])


def clear() -> None:
    for queue in (PLAIN, FAILING, DEAD):
        connect().execute("SELECT pgmq.purge_queue(%s)", [queue])
        archive = sql.Identifier("pgmq", f"a_{queue}")
        connect().execute(sql.SQL("TRUNCATE {}").format(archive))


@cache
def connect() -> psycopg.Connection:
    """A connection with the plans that it has out of the box."""
    connection = processes.connect()
    connection.execute("SET plan_cache_mode = auto")
    return connection


def send(queue: str, batch: int) -> int:
    bodies = [Jsonb({"body": BODY.decode()})] * batch
    connect().execute(SEND, [queue, bodies], prepare=True)
    return batch


def read(queue: str, batch: int) -> list[int]:
    rows = connect().execute(READ, [queue, batch], prepare=True).fetchall()
    return [number for number, _ in rows]


def delete(queue: str, numbers: list[int]) -> None:
    connect().execute(DELETE, [queue, numbers], prepare=True)


def archive(queue: str, numbers: list[int]) -> None:
    connect().execute(ARCHIVE, [queue, numbers], prepare=True)


def cycle(batch: int, finish: Callable[[str, list[int]], None] = delete) -> None:
    """As many are finished as are sent, also when another client reads some of them."""
    send(PLAIN, batch)
    left = batch
    while left:
        if numbers := read(PLAIN, left):
            finish(PLAIN, numbers)
            left -= len(numbers)


def die(batch: int, attempts: int) -> int:
    """Fail each message of a batch until it is a dead letter, as its users write it."""
    send(FAILING, batch)
    numbers: list[int] = []
    for attempt in range(attempts):
        numbers = read(FAILING, batch)
        if attempt < attempts - 1:
            connect().execute(GIVE_BACK, [FAILING, numbers], prepare=True)
    with connect().transaction():
        send(DEAD, len(numbers))
        delete(FAILING, numbers)
    return len(numbers)
