"""The statements of both storages, by one driver: psycopg without the broker's API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from broker import sql
from broker.queueing import processes, store
from broker.queueing.get import HIGHS, PRIORITIES, last_ids, lows_of, near
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.put import NewMessage
from tests.bench.body import BODY

FOLDER = Path(__file__).parent
TIMEOUT, DAY_S = timedelta(minutes=5), 86_400
PARTITIONS, XIDS = 5, 2**20  # transactions of one partition
TABLES = ("message", "entry", "delayed", "claim", "event")
GET = """
SELECT * FROM lane_get(%(queue)s::text, %(limit)s::bigint, %(uow)s::bigint,
    %(owner)s::int, %(claim_id)s::int, %(timeout)s::interval, %(actor)s::text)"""
Rows = list[tuple[Any, ...]]


@cache
def text(name: str) -> str:
    """A statement without comments and indentation, as ``broker.sql.statement``."""
    lines = map(str.strip, (FOLDER / f"{name}.sql").read_text().splitlines())
    return "\n".join(line for line in lines if not line.startswith("--"))


def install() -> None:
    with processes.connect() as line:
        tables = (FOLDER / "tables.sql").read_text()
        line.execute(tables.replace("{get}", text("get")))
        ((xid,),) = line.execute("SELECT pg_current_xact_id()::text::bigint").fetchall()
        for n in range(PARTITIONS):
            low = n * XIDS + (xid if n else 0)
            line.execute(
                f"CREATE TABLE lane_message_p{n} PARTITION OF lane_message"
                f" FOR VALUES FROM ({low}) TO ({xid + (n + 1) * XIDS})"
            )


def clear() -> None:
    with processes.connect() as line:
        line.execute("TRUNCATE " + ", ".join(f"lane_{table}" for table in TABLES))


@cache
def cursor_of(line: psycopg.Connection, name: str) -> psycopg.Cursor[Any]:
    return sql.new_cursor(line)


def run(name: str, statement: bytes | str, parameters: dict[str, Any]) -> Rows:
    """Run a prepared statement on this process's connection."""
    connection.ensure_connection()
    cursor = cursor_of(connection.connection, name)
    cursor.execute(statement, parameters, prepare=True, binary=True)
    return cursor.fetchall()


@cache
def messages(queue: str, batch: int, body: bytes, priority: int, delay_s: float) -> Any:
    """The parameters that ``put_many`` would make of so many messages."""
    due = datetime.now(UTC) + timedelta(seconds=delay_s) if delay_s else None
    message = NewMessage(queue, body, priority=priority, deliver_at=due)
    about: dict[str, Any] = {"address": queue, "uow": None, "actor": "", "now": None}
    if batch == 1 and due is None:
        return "put_one", store.values(message) | about
    about |= {"looked": False, "refusing_ids": []}
    return "put", store.columns([message] * batch) | about


class Engine:
    """The broker's storage by its own statements."""

    def put(
        self,
        queue: str,
        batch: int,
        *,
        body: bytes = BODY,
        priority: int = 4,
        delay_s: float = 0,
    ) -> int:
        name, parameters = messages(queue, batch, body, priority, delay_s)
        self.run(name, parameters)
        return batch

    def put_short(self, queue: str, batch: int) -> int:
        return self.put(queue, batch, body=b"deep")

    def put_delayed(self, queue: str, batch: int) -> int:
        return self.put(queue, batch, delay_s=DAY_S)

    def get(self, queue: str, limit: int) -> Rows:
        lows, settled = lows_of(queue), FLOORS.settled
        taker = taker_of(queue, limit) | near(queue)
        taker |= {"pooled": False, "now": None, "synchronous_commit": "off"}
        if limit == 1:
            nothing = {"accepted_uow": None, "expected": 0}
            rows = self.run("get_one", taker | nothing | {"lows": lows})
            rows = [] if rows[0][0] is None else rows
        else:
            search = {"priorities": PRIORITIES, "lows": lows, "highs": HIGHS}
            rows = self.run("get", taker | search)
        if rows:
            last_ids[queue] = rows[-1][2]
            found = [(row[5], row[18]) for row in rows]
            FLOORS.raise_to(queue, settled, found, whole=len(rows) < limit)
        return rows

    def accept(self, rows: Rows) -> None:
        expected = {"uow": rows[0][0], "expected": len(rows)}
        self.run("accept", expected | {"actor": "", "now": None})

    def run(self, name: str, parameters: dict[str, Any]) -> Rows:
        return run(name, sql.statement(name), parameters)

    def take(self, queue: str, batch: int) -> int:
        """Get and accept; 0 when nothing is left."""
        rows = self.get(queue, batch)
        if rows:
            self.accept(rows)
        return len(rows)

    def cycle(self, queue: str, batch: int) -> int:
        """Put, get, accept; the number that was accepted."""
        self.put(queue, batch)
        while not (taken := self.take(queue, batch)):
            pass
        return taken


class Lanes(Engine):
    """Delivery by cursors. Sometimes nothing is taken though much is there: until the
    transactions before it have ended."""

    def get(self, queue: str, limit: int) -> Rows:
        return run("lane get", GET, taker_of(queue, limit))

    def run(self, name: str, parameters: dict[str, Any]) -> Rows:
        return run(f"lane {name}", text(name), parameters)

    def back_out(self, uow: int, *, delay: timedelta | None = None) -> None:
        self.run("back_out", {"uow": uow, "delay": delay, "actor": ""})

    def wake(self, queue: str) -> None:
        self.run("wake", {"queue": queue, "limit": 1000})


def taker_of(queue: str, limit: int) -> dict[str, Any]:
    return {
        "queue": queue,
        "limit": limit,
        "uow": None,
        "owner": processes.current(),
        "claim_id": 0,
        "timeout": TIMEOUT,
        "actor": "",
    }
