"""What some work costs beside time: processors, and what is written ahead."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from django.db import connection

from broker.queueing import processes
from tests.bench import pgmq
from tests.bench.workloads import floor

WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float"


@dataclass(frozen=True)
class Spent:
    """By one client and the connections that it works on."""

    client_s: float = 0
    server_s: float = 0  # 0 where the server is not on this machine
    wal: float = 0  # bytes, of everybody

    def __sub__(self, before: Spent) -> Spent:
        return Spent(
            self.client_s - before.client_s,
            self.server_s - before.server_s,
            self.wal - before.wal,
        )


NOTHING = Spent()


def read() -> Spent:
    connection.ensure_connection()
    lines = [floor(), connection.connection]
    if pgmq.is_here():
        lines.append(pgmq.connect())
    server_s = sum(processor_s(line.info.backend_pid) for line in lines)
    ((wal,),) = meter().execute(WRITTEN)
    return Spent(time.process_time(), server_s, wal)


@cache
def meter() -> psycopg.Connection:
    return processes.connect()


def processor_s(pid: int) -> float:
    try:
        spent, *_ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except OSError:
        return 0
    return int(spent) / 1e9
