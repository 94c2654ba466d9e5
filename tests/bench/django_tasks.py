"""Django's tasks on this broker, beside ``django-tasks-db`` and Procrastinate.

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

from django.conf import settings

from tests.amqp.launching import database_url
from tests.bench import ground, machine, report
from tests.bench.figures import Figure
from tests.bench.handlers import (
    Drain,
    Kind,
    dispatcher,
    drain,
    procrastinate_sender,
    procrastinate_worker,
)

PYTHON = sys.executable
DB = "django-tasks-db"
PEER = "procrastinate"
ALIASES = {"default": "tasks", "joined": "tasks, JOIN", "db": DB}
TARGETS = {DB: 2.0, PEER: 1.5}


class Enqueuer:
    """A process that enqueues with one backend."""

    def __init__(self, backend: str, task: str = "early") -> None:
        self.process = subprocess.Popen(
            [PYTHON, "-m", "tests.handlers_bench.enqueue", backend, task],
            cwd=settings.BASE_DIR,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.count, self.took_s = 0, 0.0

    def send(self, arguments: Sequence[bytes | str | int]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = [one.decode() if isinstance(one, bytes) else one for one in arguments]
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        self.took_s += float(self.process.stdout.readline())
        self.count += len(arguments)

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


COMMANDS: dict[str, Callable[[int], Sequence[str]]] = {
    "default": dispatcher("tasks"),
    "joined": dispatcher("joined_tasks"),
    "db": db_workers,
}


def measure(
    say: Callable[[str], None], *, messages: int, rounds: int, write: bool
) -> None:
    say("Making a database")
    with ground.own_database(), TemporaryDirectory() as folder:
        migrate()
        figures = list(figured(say, Path(folder) / "notes", messages, rounds))
    text = f"```\n{report.table_of_figures(figures)}\n```\n\n{machine.load()}"
    print(text)
    if write:
        said = f"{messages:,} waiting tasks, {rounds} rounds.\n\n{text}"
        report.write_part("Django's tasks", said)


def figured(
    say: Callable[[str], None], notes: Path, messages: int, rounds: int
) -> Iterator[Figure]:
    with enqueuers() as senders:
        kinds = [
            Kind(ALIASES[alias], one.send, COMMANDS[alias])
            for alias, one in senders.items()
        ]
        kinds.append(Kind(PEER, procrastinate_sender, procrastinate_worker))
        for concurrency in (1, 8):
            found: dict[str, list[Drain]] = {kind.name: [] for kind in kinds}
            for number in range(rounds):
                for kind in random.sample(kinds, len(kinds)):
                    say(f"{kind.name}, {concurrency} at once, round {number + 1}")
                    found[kind.name].append(drain(kind, concurrency, notes, messages))
            yield from compared(found, concurrency)
        for alias, one in senders.items():
            rate = one.count / one.took_s
            yield Figure(f"{ALIASES[alias]}: enqueue", rate, "tasks/s")


def compared(found: dict[str, list[Drain]], concurrency: int) -> Iterator[Figure]:
    at_once = f"{concurrency} at once"
    rates = {name: median(one.rate for one in own) for name, own in found.items()}
    for name in (DB, PEER):
        yield Figure(f"{name}, {at_once}", rates[name], "tasks/s")
    for name in ("tasks", "tasks, JOIN"):
        for peer, least in TARGETS.items():
            ratios = [
                a.rate / b.rate for a, b in zip(found[name], found[peer], strict=True)
            ]
            yield Figure(
                f"{name}, {at_once}",
                rates[name],
                "tasks/s",
                peer,
                median(ratios),
                least,
            )


@contextmanager
def enqueuers() -> Iterator[dict[str, Enqueuer]]:
    with ExitStack() as stack:
        made = {alias: Enqueuer(alias) for alias in ALIASES}
        for one in made.values():
            stack.callback(one.close)
        yield made
