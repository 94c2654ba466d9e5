"""Drains of waiting messages, and the delay of messages that come at a fixed rate.

The kinds take turns, round by round. A drain counts from the tenth part of its messages
on: processes start at different times. Processor time is that of the whole machine, so
it has the servers in it; nothing else may run.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil
from celery import Celery, current_app
from django.conf import settings

from broker.queueing.put import NewMessage, put, put_many
from tests.amqp.launching import database_url
from tests.bench import ground, machine, rabbit, report
from tests.bench.figures import Figure, percentile
from tests.handlers_bench import work
from tests.make import make_queue

BATCH = 500
WAITS_S = 120.0  # longest time of one drain
RATE = 50  # messages a second, where the delay is measured
START_S = 8.0  # for a worker to start, before the delay is measured
OURS = ("joined", "joined_row", "leased")
CELERY = (sys.executable, "-m", "celery", "-A", "tests.handlers_bench.celery_peer")
RABBIT = "amqp://guest:guest@{}//"


@dataclass(frozen=True)
class Kind:
    """One way to run a handler."""

    name: str
    send: Callable[[Sequence[bytes]], None]
    command: Callable[[int], Sequence[str]]  # by concurrency
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drain:
    """What one drain gave."""

    rate: float  # messages a second
    cpu_us: float  # for a message, of all processors


def measure(
    say: Callable[[str], None], *, messages: int, rounds: int, write: bool
) -> None:
    say("Making a database")
    with ground.own_database(), TemporaryDirectory() as folder:
        ground.fetch("CREATE TABLE bench_row (body text NOT NULL)")
        for queue in OURS:
            make_queue(queue)
        notes = Path(folder) / "notes"
        figures = list(figured(say, notes, messages, rounds))
    text = f"```\n{report.table_of_figures(figures)}\n```\n\n{machine.load()}"
    print(text)
    if write:
        said = (
            f"{messages:,} waiting messages of {work.SIZE} bytes, {rounds} rounds;"
            f" processor time is that of the whole machine.\n\n{text}"
        )
        report.write_part("Handlers beside other task queues", said)


def figured(
    say: Callable[[str], None], notes: Path, messages: int, rounds: int
) -> Iterator[Figure]:
    every = list(kinds())
    for concurrency in (1, 8):
        drains: dict[str, list[Drain]] = {kind.name: [] for kind in every}
        for number in range(rounds):
            for kind in random.sample(every, len(every)):
                say(f"{kind.name}, {concurrency} at once, round {number + 1}")
                drains[kind.name].append(drain(kind, concurrency, notes, messages))
        yield from compared(drains, concurrency)
    for kind in every:
        say(f"{kind.name}, {RATE} messages a second")
        delays = delays_ms(kind, notes)
        for percent in (50, 99):
            name = f"{kind.name}: sent to started, p{percent}"
            most = {50: 3, 99: 8}[percent] if kind.name == OURS[0] else None
            yield Figure(name, percentile(delays, percent), "ms", most=most)


def compared(drains: dict[str, list[Drain]], concurrency: int) -> Iterator[Figure]:
    at_once = f"{concurrency} at once"
    for name, found in drains.items():
        yield Figure(
            f"{name}, {at_once}", median(one.rate for one in found), "messages/s"
        )
        yield Figure("its processors", median(one.cpu_us for one in found), "µs")
    targets = {
        (1, "Celery + Redis, early"): 1.1,
        (1, "Celery + Redis, late"): 1.8,
        (8, "Celery + Redis, early"): 1.5,
        (8, "Celery + Redis, late"): 2.0,
    }
    for ours in (OURS[0], OURS[2]):
        for name, found in drains.items():
            if name not in OURS:
                ratio = median(
                    a.rate / b.rate for a, b in zip(drains[ours], found, strict=True)
                )
                least = targets.get((concurrency, name)) if ours == OURS[0] else None
                value = median(one.rate for one in drains[ours])
                yield Figure(
                    f"{ours}, {at_once}", value, "messages/s", name, ratio, least
                )


def kinds() -> Iterator[Kind]:
    for queue in OURS:
        yield Kind(queue, sender(queue), dispatcher(queue))
    brokers = {"Redis": current_app.conf.broker_url, "Backout": "backout://"}
    if rabbit.is_here():
        brokers["RabbitMQ"] = RABBIT.format(rabbit.HOST)
    for name, url in brokers.items():
        for task in ("early", "late", "row"):
            yield Kind(
                f"Celery + {name}, {task}",
                celery_sender(url, task),
                celery_worker,
                {"BENCH_CELERY": url},
            )
    yield Kind("procrastinate's worker", procrastinate_sender, procrastinate_worker)


def sender(queue: str) -> Callable[[Sequence[bytes]], None]:
    def send(bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            put(queue, bodies[0])
        else:
            put_many([NewMessage(queue, body) for body in bodies])

    return send


def dispatcher(queue: str) -> Callable[[int], Sequence[str]]:
    """One process for each handler that runs at once."""
    command = (sys.executable, "-m", "django", "broker_dispatch", f"--queue={queue}")
    return lambda concurrency: [*command, f"--processes={concurrency}"]


def celery_sender(url: str, task: str) -> Callable[[Sequence[bytes]], None]:
    app = Celery("sender", broker=url, set_as_current=False)

    def send(bodies: Sequence[bytes]) -> None:
        for body in bodies:
            app.send_task(task, [body.decode()], queue="backout_bench_tasks")

    return send


def celery_worker(concurrency: int) -> Sequence[str]:
    return [*CELERY, "worker", "-l", "ERROR", f"--concurrency={concurrency}"]


def procrastinate_sender(bodies: Sequence[bytes]) -> None:
    ground.fetch(
        "SELECT procrastinate_defer_jobs_v1(array_agg(ROW ('bench', 'early', 0, NULL,"
        " NULL, jsonb_build_object('sent', sent), NULL)"
        "::procrastinate_job_to_defer_v1)) FROM unnest(ARRAY["
        + ",".join(f"'{body.decode()}'" for body in bodies)
        + "]) AS given (sent)"
    )


def procrastinate_worker(concurrency: int) -> Sequence[str]:
    app = "--app=tests.handlers_bench.procrastinate_peer.app"
    command = [sys.executable, "-m", "procrastinate", app, "worker"]
    return [*command, f"--concurrency={concurrency}"]


def drain(kind: Kind, concurrency: int, notes: Path, messages: int) -> Drain:
    notes.write_bytes(b"")
    for first in range(0, messages, BATCH):
        kind.send([work.body() for _ in range(min(BATCH, messages - first))])
    tenth = messages // 10
    with running(kind, concurrency, notes) as process:
        until(notes, tenth, process)
        began = busy_s()
        begun = len(work.notes(notes))
        until(notes, messages, process)
        spent = busy_s() - began
    found = work.notes(notes)
    assert len(found) == messages, "each message is handled once"
    took_s = found[-1].at - found[tenth].at
    return Drain(
        (messages - 1 - tenth) / took_s, spent / max(messages - begun, 1) * 1e6
    )


def delays_ms(kind: Kind, notes: Path, seconds: float = 20.0) -> list[float]:
    """Of messages that come one by one, from another process."""
    notes.write_bytes(b"")
    with running(kind, 1, notes) as process:
        time.sleep(START_S)
        for _ in range(int(seconds * RATE)):
            kind.send([work.body()])
            time.sleep(1 / RATE)
        until(notes, int(seconds * RATE), process)
    return [(one.at - one.sent) * 1000 for one in work.notes(notes)][RATE:]


@contextmanager
def running(
    kind: Kind, concurrency: int, notes: Path
) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "tests.handlers_bench.settings",
        work.NOTES: str(notes),
    }
    process = subprocess.Popen(
        kind.command(concurrency),
        cwd=settings.BASE_DIR,
        env=os.environ | environment | kind.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def until(notes: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + WAITS_S
    while notes.stat().st_size < count * work.NOTE.size:
        assert process.poll() is None, f"{process.args!r} ended"
        assert time.monotonic() < ends, f"{count} were not handled in {WAITS_S:g} s"
        time.sleep(0.005)


def busy_s() -> float:
    """Processor time of the machine."""
    spent = psutil.cpu_times()
    return float(sum(spent) - spent.idle - spent.iowait)
