"""Django's tasks and Celery on this broker, beside other backends and brokers.

The same drains as those of ``handlers``; a program of its own enqueues, one by one.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from celery import current_app
from django.conf import settings

from tests.amqp.launching import database_url
from tests.bench import ground, machine, report
from tests.bench.figures import Figure
from tests.bench.handlers import (
    Drains,
    Kind,
    celery_worker,
    dispatcher,
    drain,
    procrastinate_worker,
)

Command = Callable[[int], Sequence[str]]
PYTHON = sys.executable
DB = "django-tasks-db"
PEER = "procrastinate"
REDIS, TRANSPORT = "Celery + Redis, late", "Celery + Backout, late"
TARGETS = {DB: 2.0, PEER: 1.5, REDIS: 1.5}


class Enqueuer:
    """A process that enqueues with one backend."""

    def __init__(self, backend: str, task: str = "early", broker: str = "") -> None:
        self.process = subprocess.Popen(
            [PYTHON, "-m", "tests.handlers_bench.enqueue", backend, task],
            cwd=settings.BASE_DIR,
            env=environment() | {"BENCH_CELERY": broker},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.rates: list[float] = []  # tasks a second

    def send(self, arguments: Sequence[bytes | str | int]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = [one.decode() if isinstance(one, bytes) else one for one in arguments]
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        took_s = float(self.process.stdout.readline())
        self.rates.append(len(arguments) / took_s)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def environment() -> dict[str, str]:
    return os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "tests.handlers_bench.settings",
    }


def migrate() -> None:
    """Make the table of ``django-tasks-db``."""
    command = [PYTHON, "-m", "django", "migrate", "-v0", "django_tasks_database"]
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment(), check=True)


def db_workers(concurrency: int) -> Sequence[str]:
    return [PYTHON, "-m", "tests.handlers_bench.db_workers", str(concurrency)]


@contextmanager
def kinds() -> Iterator[dict[str, tuple[Enqueuer, Kind]]]:
    """Each with the process that enqueues for it."""
    with ExitStack() as stack:

        def kind(name: str, command: Command, *enqueues: str) -> None:
            one = Enqueuer(*enqueues)
            stack.callback(one.close)
            broker = {"BENCH_CELERY": enqueues[2]} if "celery" in enqueues else {}
            found[name] = one, Kind(name, one.send, command, broker)

        found: dict[str, tuple[Enqueuer, Kind]] = {}
        kind("tasks", dispatcher("tasks"), "default")
        kind("tasks, JOIN", dispatcher("joined_tasks"), "joined")
        kind(TRANSPORT, celery_worker, "celery", "late", "backout://")
        kind(DB, db_workers, "db")
        kind(PEER, procrastinate_worker, "procrastinate")
        kind(REDIS, celery_worker, "celery", "late", current_app.conf.broker_url)
        yield found


def measure(say: Callable[[str], None], *, size: Drains, write: bool) -> None:
    say("Making a database")
    with ground.own_database(), TemporaryDirectory() as folder:
        migrate()
        figures = list(figured(say, Path(folder) / "notes", size))
    text = f"```\n{report.table_of_figures(figures)}\n```\n\n{machine.load()}"
    print(text)
    if write:
        said = (
            f"{size.messages:,} waiting tasks, of which the second half counts;"
            f" {size.rounds} rounds.\n\n{text}"
        )
        report.write_part("Django's tasks", said)


def figured(say: Callable[[str], None], notes: Path, size: Drains) -> Iterator[Figure]:
    with kinds() as every:
        for concurrency in size.at_once:
            found: dict[str, list[float]] = {name: [] for name in every}
            for number in range(size.rounds):
                for name in random.sample(list(every), len(every)):
                    say(f"{name}, {concurrency} at once, round {number + 1}")
                    one = drain(every[name][1], concurrency, notes, size.messages)
                    found[name].append(one.rate)
            yield from compared(f"run, {concurrency} at once", found)
        yield from compared(
            "enqueue", {name: one.rates for name, (one, _) in every.items()}
        )


def compared(what: str, found: dict[str, list[float]]) -> Iterator[Figure]:
    rates = {name: median(own) for name, own in found.items()}
    for name in TARGETS:
        yield Figure(f"{name}: {what}", rates[name], "tasks/s")
    for name in [one for one in found if one not in TARGETS]:
        for peer, least in TARGETS.items():
            pairs = zip(found[name], found[peer], strict=True)
            ratio = median(own / other for own, other in pairs)
            yield Figure(f"{name}: {what}", rates[name], "tasks/s", peer, ratio, least)
