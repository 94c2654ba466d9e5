"""What some work costs beside time: processors, and what is written ahead.

Of PostgreSQL count the connections that the work uses; what its other processes and
Redis do is left out. Of RabbitMQ counts all of its process, which has no part for a
connection.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from django.db import connection

from broker.queueing import processes
from tests.bench import pgmq, rabbit, rival
from tests.bench.workloads import floor

WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float"


@dataclass(frozen=True)
class Spent:
    """By one client and the server that works for it."""

    client_s: float = 0
    server_s: float = 0  # 0 where the server is not on this machine
    wal: float = 0  # bytes of PostgreSQL, of everybody

    def __sub__(self, before: Spent) -> Spent:
        return Spent(
            self.client_s - before.client_s,
            self.server_s - before.server_s,
            self.wal - before.wal,
        )


NOTHING = Spent()


def read(work: str) -> Spent:
    """So far; of the server that does this work."""
    if is_shared(work):
        return Spent(time.process_time(), rabbit.processor_s())
    ((wal,),) = meter().execute(WRITTEN)
    return Spent(time.process_time(), connections_s(), wal)


def is_shared(work: str) -> bool:
    """Whether each client reads the same server, not connections of its own."""
    return work.startswith("rabbit")


def together(work: str, spent: list[Spent]) -> Spent:
    """Of clients that worked at the same time."""
    all_of = max if is_shared(work) else sum
    return Spent(
        sum(one.client_s for one in spent),
        all_of(one.server_s for one in spent),
        max(one.wal for one in spent),
    )


def connections_s() -> float:
    connection.ensure_connection()
    lines = [floor(), connection.connection, rival.connect()]
    if pgmq.is_here():
        lines.append(pgmq.connect())
    return sum(processor_s(line.info.backend_pid) for line in lines)


@cache
def meter() -> psycopg.Connection:
    return processes.connect()


def processor_s(pid: int) -> float:
    """Of a process with one thread."""
    try:
        spent, *_ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except OSError:
        return 0
    return int(spent) / 1e9
