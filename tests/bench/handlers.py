"""Drains of waiting messages, and the delay of messages that come at a fixed rate.

The kinds take turns, round by round. Of a drain the second half counts: processes start
at different times, and the start of Python is no throughput. Processor time is that of
the whole machine, so it has the servers in it; nothing else may run.
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

from celery import Celery, current_app
from django.conf import settings

from broker.queueing.put import NewMessage, put, put_many
from tests.amqp.launching import database_url
from tests.bench import ground, machine, rabbit, report
from tests.bench.figures import Figure, percentile
from tests.handlers_bench import work
from tests.harness.processor import busy_s
from tests.make import make_queue

BATCH = 500
WAITS_S = 120.0  # longest time of one drain
RATE = 50  # messages a second, where the delay is measured
START_S = 8.0  # for a worker to start, before the delay is measured
CORES = os.cpu_count() or 1
OURS = ("joined", "joined_row", "leased")
SESSIONS = 16  # of each process, which commit together
TOGETHER = f"leased, {SESSIONS} sessions"
TASKS = 64  # of the event loop of each process
IN_LOOP = f"async, {TASKS} at once"
BACKOUT = (*OURS, TOGETHER, IN_LOOP)
CELERY = (sys.executable, "-m", "celery", "-A", "tests.handlers_bench.celery_peer")
TITLE = "Handlers beside other task queues"
PROSE = """\
Written by `make bench ARGS="--handlers --write"`. {messages:,} messages of {bytes:,}
bytes wait; of each drain the second half counts; {rounds} rounds. *At once* are
processes, of procrastinate tasks of one event loop; *sessions* are threads of each
process, which commit together, and those of *async* are tasks of its event loop.
Processor time is that of the whole machine, servers included: a process for each core
takes all of it, and there are {cores} cores. A ratio above 1 is the advantage of the
first, by rate and by processor. *row* writes a row and commits it."""
RABBIT = "amqp://guest:guest@{}//"


@dataclass(frozen=True)
class Kind:
    """One way to run a handler."""

    name: str
    send: Callable[[Sequence[bytes]], None]
    command: Callable[[int], Sequence[str]]  # by concurrency
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drains:
    """How much is measured.

    Attributes:
        messages: of a drain; of fewer than 5,000 the start of a process is much.
        at_once: processes; the pages speak of one for each core.
        delays_s: for which the delay of each kind is watched.
    """

    messages: int = 5_000
    rounds: int = 5
    at_once: tuple[int, ...] = tuple(sorted({1, CORES, 8}))
    delays_s: float = 20


QUICK = Drains(rounds=2, at_once=tuple(sorted({1, CORES})), delays_s=10)


@dataclass(frozen=True)
class Drain:
    """What one drain gave."""

    rate: float  # messages a second
    cpu_us: float  # for a message, of all processors


def measure(say: Callable[[str], None], *, size: Drains, write: bool) -> None:
    say("Making a database")
    with ground.own_database(), TemporaryDirectory() as folder:
        ground.fetch("CREATE TABLE bench_row (body text NOT NULL)")
        for queue in (*OURS, "async"):
            make_queue(queue)
        notes = Path(folder) / "notes"
        figures = list(figured(say, notes, size))
    text = f"```\n{report.table_of_figures(figures)}\n```\n\n{machine.load()}"
    print(text)
    if write:
        said = PROSE.format(
            messages=size.messages, bytes=work.SIZE, rounds=size.rounds, cores=CORES
        )
        report.write_part(TITLE, f"{said}\n\n{text}")


def figured(say: Callable[[str], None], notes: Path, size: Drains) -> Iterator[Figure]:
    every = list(kinds())
    for concurrency in size.at_once:
        drains: dict[str, list[Drain]] = {kind.name: [] for kind in every}
        for number in range(size.rounds):
            for kind in random.sample(every, len(every)):
                say(f"{kind.name}, {concurrency} at once, round {number + 1}")
                drains[kind.name].append(drain(kind, concurrency, notes, size.messages))
        yield from compared(drains, concurrency)
    for kind in every:
        say(f"{kind.name}, {RATE} messages a second")
        delays = delays_ms(kind, notes, size.delays_s)
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
        us = median(one.cpu_us for one in found)
        yield Figure(f"{name}, {at_once}: processor", us, "µs")
    targets = {
        (1, "Celery + Redis, early"): 1.1,
        (1, "Celery + Redis, late"): 1.8,
        (8, "Celery + Redis, early"): 1.5,
        (8, "Celery + Redis, late"): 2.0,
    }
    for ours in filter(BACKOUT.__contains__, drains):
        for name in drains:
            if name not in BACKOUT and name.endswith("row") == ours.endswith("row"):
                least = targets.get((concurrency, name)) if ours == OURS[0] else None
                yield from beside(
                    f"{ours}, {at_once}", drains[ours], name, drains[name], least
                )


def beside(
    words: str, mine: list[Drain], name: str, theirs: list[Drain], least: float | None
) -> Iterator[Figure]:
    """By rate and by processor; above 1 is our advantage."""
    pairs = list(zip(mine, theirs, strict=True))
    rate, us = median(one.rate for one in mine), median(one.cpu_us for one in mine)
    ratio = median(one.rate / other.rate for one, other in pairs)
    yield Figure(words, rate, "messages/s", name, ratio, least)
    ratio = median(other.cpu_us / one.cpu_us for one, other in pairs)
    yield Figure(f"{words}: processor", us, "µs", name, ratio)


def kinds() -> Iterator[Kind]:
    for queue in OURS:
        yield Kind(queue, sender(queue), dispatcher(queue))
    together = dispatcher("leased", f"--concurrency={SESSIONS}")
    yield Kind(TOGETHER, sender("leased"), together)
    in_loop = dispatcher("async", f"--concurrency={TASKS}")
    yield Kind(IN_LOOP, sender("async"), in_loop)
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


def dispatcher(queue: str, *options: str) -> Callable[[int], Sequence[str]]:
    """So many processes, of one session if no option says otherwise."""
    command = (sys.executable, "-m", "django", "broker_dispatch", f"--queue={queue}")
    return lambda processes: [*command, *options, f"--processes={processes}"]


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
    half = messages // 2
    with running(kind, concurrency, notes) as process:
        until(notes, half, process)
        before_s = busy_s()
        begun = len(work.notes(notes))
        until(notes, messages, process)
        spent_s = busy_s() - before_s
    found = work.notes(notes)
    assert len(found) == messages, "each message is handled once"
    took_s = found[-1].at - found[half].at
    return Drain(
        (messages - 1 - half) / took_s, spent_s / max(messages - begun, 1) * 1e6
    )


def delays_ms(kind: Kind, notes: Path, seconds: float) -> list[float]:
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
