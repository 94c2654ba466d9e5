"""Procrastinate, a queue of tasks in PostgreSQL, driven through its own SQL functions.

That favours it: no worker, no event loop and no task stand between, and its statements
are prepared. Finished tasks stay in its table, as a worker leaves them by default.
"""

from __future__ import annotations

from functools import cache

import psycopg
from procrastinate.schema import SchemaManager
from psycopg.types.json import Jsonb

from broker.queueing import processes

DEFER = """
SELECT procrastinate_defer_jobs_v1(ARRAY[
    ROW ('bench', 'task', 0, NULL, NULL, %b, NULL)]::procrastinate_job_to_defer_v1[])"""
FETCH = "SELECT id, args FROM procrastinate_fetch_job_v2(ARRAY['bench']::varchar[], %b)"
FINISH = "SELECT procrastinate_finish_job_v1(%b, 'succeeded', false)"
STOCK = """
INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
SELECT 'bench', 'task', '{}', %b::text::timestamptz FROM generate_series(1, %b)"""
WORKER = "SELECT id FROM procrastinate_register_worker_v1() AS worker (id)"


@cache
def connect() -> psycopg.Connection:
    """A connection with the plans that it has out of the box."""
    connection = processes.connect()
    connection.execute("SET plan_cache_mode = auto")
    connection.execute("SET statement_timeout = 0")  # to stock it takes a while
    return connection


@cache
def worker() -> int:
    (number,) = connect().execute(WORKER).fetchone() or (0,)
    return int(number)


def install() -> None:
    connect().execute(SchemaManager.get_schema())


def stock(due: int, later: int) -> None:
    """So many tasks that can be fetched, and so many of tomorrow."""
    connect().execute(STOCK, ["now", due])
    connect().execute(STOCK, ["tomorrow", later])
    connect().execute("VACUUM ANALYZE procrastinate_jobs")


def defer(text: str) -> None:
    connect().execute(DEFER, [Jsonb({"body": text})], prepare=True)


def fetch() -> int:
    row = connect().execute(FETCH, [worker()], prepare=True).fetchone()
    assert row, "procrastinate has nothing that was not fetched"
    return int(row[0])


def finish(number: int) -> None:
    connect().execute(FINISH, [number], prepare=True)
