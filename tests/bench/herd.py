"""A herd: what was delayed falls due in one second, beside a million that do not.

One process releases, as the worker does; one gets from the herd's queue; one works on
another queue all the while, and measures its gets: first alone, then while as many
messages are got that nobody has to release, and then during the herd.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from broker import tasks
from broker.housekeeping.work import BEAT_S
from broker.models import Kind, Queue
from broker.queueing import processes
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.scope import unit_of_work
from tests.bench import ground
from tests.bench.body import BODY
from tests.bench.figures import Figure, percentile
from tests.make import make_queue

QUEUES = ("herd", "other", "waiting")
OTHERS = 100  # of another queue, due in the same second; nobody gets them
SOON = timedelta(seconds=3)  # for everybody to be at work
ALONE_S = 5.0
DISTURBED = 5  # times: what the gets of another queue may slow down to

WAIT = """
INSERT INTO broker_delayed (due_at, id, queue_id, priority)
SELECT now() + interval '1 day' + n * interval '1 s', -n, %(queue)s, 4
FROM generate_series(1, %(waiting)s) AS n"""
FALL_DUE = """
UPDATE broker_delayed SET due_at = %(at)s + random() * interval '1 s'
WHERE queue_id <> %(waiting)s"""
NOTE = """
CREATE TABLE bench_due AS
SELECT id, queue_id, due_at FROM broker_delayed WHERE queue_id <> %(waiting)s"""
LATE = """
SELECT count(*) FILTER (WHERE happened.at < due.due_at), count(*),
    coalesce(extract(epoch FROM max(happened.at) - min(happened.at)), 0),
    percentile_cont(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (
        ORDER BY 1000 * extract(epoch FROM happened.at - due.due_at))
FROM bench_due AS due JOIN (
    SELECT at, unnest(ids) AS id FROM broker_event
    WHERE kind = %(kind)s AND queue_id = %(queue)s
) AS happened USING (id) WHERE due.queue_id = %(queue)s"""


def measure(database: str, *, herd: int, waiting: int) -> Iterator[Figure]:
    """Every figure of a herd of so many messages, beside so many that wait.

    Args:
        database: its name, for the other processes.
        herd: messages due in one second.
        waiting: messages due much later.
    """
    ground.clear()
    queues = {name: queue_id(name) for name in QUEUES}
    stock(queues, herd, waiting)
    try:
        with process(release, database) as releasing:
            with process(work_beside, database) as beside:
                time.sleep(ALONE_S)
                alone = ended(beside)
            before, taken = at_work(database, queues)
            fall_due(queues)
            during, more = at_work(database, queues)
            ended(releasing)
        assert len(taken) == len(more) == herd, "each was delivered, and once"
        yield from lateness(queues, herd)
        yield from disturbance("a machine that does nothing else", alone, during)
        yield from disturbance("as many that nobody releases", before, during)
    finally:
        ground.fetch("DROP TABLE IF EXISTS bench_due")
        ground.clear()


def at_work(database: str, queues: dict[str, int]) -> tuple[list[float], list[float]]:
    """Get all that there is; what the work on another queue saw, and what was got."""
    with (
        process(take, database) as taking,
        process(work_beside, database) as beside,
    ):
        wait_until_drained(queues)
        return ended(beside), ended(taking)


def queue_id(name: str) -> int:
    found = Queue.objects.filter(name=name).first()
    return (found or make_queue(name)).pk


def stock(queues: dict[str, int], herd: int, waiting: int) -> None:
    later = timezone.now() + timedelta(hours=1)
    for size in parts(herd, 1000):
        put_many([NewMessage("herd", BODY) for _ in range(size)])
    for name, count in (("herd", herd), ("other", OTHERS)):
        for size in parts(count, 1000):
            put_many([NewMessage(name, BODY, deliver_at=later) for _ in range(size)])
    execute(WAIT, queue=queues["waiting"], waiting=waiting)
    ground.settle_down()


def parts(count: int, most: int) -> Iterator[int]:
    while count > 0:
        yield min(count, most)
        count -= most


def fall_due(queues: dict[str, int]) -> None:
    execute(FALL_DUE, at=timezone.now() + SOON, waiting=queues["waiting"])
    execute(NOTE, waiting=queues["waiting"])


def wait_until_drained(queues: dict[str, int]) -> None:
    """Until all that falls due is released, and the herd's queue is empty."""
    while (
        execute(
            "SELECT (SELECT count(*) FROM broker_delayed WHERE queue_id <> %(waiting)s"
            " AND due_at < clock_timestamp() + interval '1 minute')"
            " + (SELECT count(*) FROM broker_ready WHERE queue_id = %(herd)s)"
            " + (SELECT count(*) FROM broker_claim WHERE queue_id = %(herd)s)",
            **queues,
        )[0][0]
        > 0
    ):
        time.sleep(0.1)


def lateness(queues: dict[str, int], herd: int) -> Iterator[Figure]:
    """By the journal, against the times that were due."""
    for name, kind, done in (
        ("herd", Kind.WAKE, "released"),
        ("herd", Kind.GET, "got"),
        ("other", Kind.WAKE, "released"),
    ):
        ((early, count, took_s, late_ms),) = execute(
            LATE, kind=kind, queue=queues[name]
        )
        whose = f"{herd:,} due" if name == "herd" else "another queue's due"
        yield Figure(f"{whose}: {done} early", early, "messages", most=0)
        for percent, ms in zip(("p50", "p99", "max"), late_ms, strict=True):
            yield Figure(f"{whose}: {done} late, {percent}", ms, "ms")
        if name == "herd":
            yield Figure(f"{whose}: {done}", count / float(took_s), "messages/s")


def disturbance(
    against: str, before: list[float], during: list[float]
) -> Iterator[Figure]:
    was, now = percentile(before, 99), percentile(during, 99)
    work = "a get of another queue while they fall due, p99"
    yield Figure(work, now, "ms", against, now / was, most=DISTURBED)


# What the processes do until they are told to end; what they return is what they saw.


def release(told: Connection) -> list[float]:
    """As the worker does: a task a second."""
    while not told.poll():
        began = time.monotonic()
        tasks.release_due()
        told.poll(max(0.0, began + BEAT_S - time.monotonic()))
    return []


def take(told: Connection) -> list[float]:
    """A consumer of the herd, 100 messages a time; the number of each that it got."""
    taken: list[float] = []
    while not told.poll():
        with unit_of_work() as work:
            got = work.get("herd", 100)
        taken += [one.message_id for one in got]
        if not got:
            told.poll(0.01)
    return taken


def work_beside(told: Connection) -> list[float]:
    """Put and get on another queue; the milliseconds of each get."""
    took: list[float] = []
    while not told.poll(0.002):
        put("beside", BODY)
        with unit_of_work() as work:
            began = time.perf_counter()
            work.get("beside")
            took.append((time.perf_counter() - began) * 1000)
    return took


@contextmanager
def process(work: Callable[[Connection], list[float]], name: str) -> Iterator[Any]:
    # A fork would share its parent's connections.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    other = context.Process(target=serve, args=(work, theirs, name), daemon=True)
    other.start()
    theirs.close()
    assert ours.recv() == "ready"
    try:
        yield ours
    finally:
        ours.close()
        other.join()


def serve(
    work: Callable[[Connection], list[float]], told: Connection, database: str
) -> None:
    settings.DATABASES["default"]["NAME"] = database
    processes.current()
    told.send("ready")
    seen = work(told)
    told.send(seen)
    processes.resign()
    connection.close()


def ended(other: Connection) -> list[float]:
    """Tell a process to end, and hear what it saw."""
    other.send("end")
    seen: list[float] = other.recv()
    return seen


def execute(statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []
