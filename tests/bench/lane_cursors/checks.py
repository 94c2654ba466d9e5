"""What the other storage must keep, tried before it is measured."""

from __future__ import annotations

import random
import threading
import time
from datetime import timedelta
from threading import Thread

import psycopg
from django.db import connection

from broker.queueing import processes
from tests.bench.ground import WrongError
from tests.bench.lane_cursors import storage
from tests.bench.lane_cursors.storage import Lanes

PUTTERS, GETTERS, TRANSACTIONS, LATEST_S = 6, 4, 60, 0.05
LEFT = """
SELECT (SELECT count(*) FROM lane_entry) + (SELECT count(*) FROM lane_delayed)
    + (SELECT coalesce(sum(cardinality(ids)), 0) FROM lane_claim)
    + (SELECT count(*) FROM lane_message AS one JOIN lane_cursor USING (queue_id)
       WHERE (one.xid, one.id) > (xids[10 - priority], ids[10 - priority])),
    (SELECT coalesce(sum(CASE kind WHEN 1 THEN n WHEN 3 THEN -n END), 0)
     FROM lane_event)"""
LANES = Lanes()
QUEUE = "cycle"


def run() -> None:
    """Try everything.

    Raises:
        WrongError: something is not kept.
    """
    for check in (order, fence, delay, late_commits):
        storage.clear()
        check()
    storage.clear()


def left() -> int:
    """How many entries the tables of lanes hold; the journal must say the same.

    Raises:
        WrongError: it does not.
    """
    with processes.connect() as line:
        ((held, told),) = line.execute(LEFT).fetchall()
    if held != told:
        raise WrongError(f"{held} entries are left, and should be {told}.")
    return int(held)


def ids(limit: int = 10) -> list[int]:
    """Take so many, and accept them."""
    rows = LANES.get(QUEUE, limit)
    if rows:
        LANES.accept(rows)
    return [row[2] for row in rows]


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise WrongError(f"{what}: {found}, not {expected}.")


def order() -> None:
    """Priorities; what was backed out comes first, in its old order; counts."""
    LANES.put(QUEUE, 3)
    LANES.put(QUEUE, 1, priority=9)
    first = LANES.get(QUEUE, 3)
    LANES.put(QUEUE, 1)
    LANES.back_out(first[0][0])
    again = LANES.get(QUEUE, 10)
    expect("what came back", [row[2] for row in again[:3]], [row[2] for row in first])
    expect("backouts", [row[3] for row in again], [1, 1, 1, 0, 0])
    expect("deliveries", [row[4] for row in again], [2, 2, 2, 1, 1])
    expect("priorities", [row[5] for row in again], [9, 4, 4, 4, 4])
    LANES.back_out(again[0][0])
    expect("all, again", ids(), [row[2] for row in again])


def fence() -> None:
    """A unit of work that was backed out is not accepted."""
    LANES.put(QUEUE, 1)
    late = LANES.get(QUEUE, 1)
    LANES.back_out(late[0][0])
    try:
        LANES.accept(late)
    except psycopg.DataError:
        expect("after a late accept", len(ids()), 1)
    else:
        raise WrongError("A lost unit of work was accepted.")


def delay() -> None:
    """Delayed messages and redeliveries come when they are due, before new ones."""
    LANES.put(QUEUE, 2, delay_s=0.3)
    LANES.put(QUEUE, 1)
    row = LANES.get(QUEUE, 10)
    expect("beside delayed ones", len(row), 1)
    LANES.back_out(row[0][0], delay=timedelta(seconds=0.2))
    LANES.wake(QUEUE)
    expect("before they are due", ids(), [])
    time.sleep(0.4)
    LANES.wake(QUEUE)
    expect("when they are due", len(ids()), 3)


def late_commits() -> None:
    """Of transactions that end in any order, or roll back, consumers that compete get
    each message once, and none of those rolled back."""
    committed: list[int] = []
    taken: list[int] = []
    ended = threading.Event()
    getters = [Thread(target=get, args=(taken, ended)) for _ in range(GETTERS)]
    putters = [Thread(target=put, args=(committed,)) for _ in range(PUTTERS)]
    for thread in getters + putters:
        thread.start()
    for thread in putters:
        thread.join()
    ended.set()
    for thread in getters:
        thread.join()
    while left := ids():
        taken += left
    expect("messages that were taken", sorted(taken), sorted(committed))


def put(committed: list[int]) -> None:
    name, parameters = storage.messages(QUEUE, 3, b"late", 4, 0)
    with processes.connect() as line:
        for _ in range(TRANSACTIONS):
            fails = random.random() < 0.1
            with line.transaction(force_rollback=fails):
                ((_, three),) = line.execute(storage.text(name), parameters)
                time.sleep(random.random() * LATEST_S)
            if not fails:
                committed += three


def get(taken: list[int], ended: threading.Event) -> None:
    while not ended.is_set():
        rows = LANES.get(QUEUE, 5)
        if rows and random.random() < 0.05:
            LANES.back_out(rows[0][0])
        elif rows:
            LANES.accept(rows)
            taken += [row[2] for row in rows]
    connection.close()
