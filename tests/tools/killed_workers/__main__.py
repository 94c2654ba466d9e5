"""Runs both, and prints what was lost, what ran twice, and how long nothing ran."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import django

django.setup()

from django.conf import settings  # noqa: E402

from broker.queueing.put import NewMessage, put_many  # noqa: E402
from tests.bench import ground  # noqa: E402
from tests.bench.django_tasks import Enqueuer, environment, migrate  # noqa: E402
from tests.handlers_bench import work  # noqa: E402
from tests.make import make_queue  # noqa: E402

DJANGO = (sys.executable, "-m", "django")
DISPATCH = (*DJANGO, "broker_dispatch", "--processes=1")
COMMANDS = {
    "default": (*DISPATCH, "--queue=tasks"),
    "group commit": (*DISPATCH, "--queue=tasks", "--concurrency=16"),
    "async": (*DISPATCH, "--queue=async_brief"),
    "joined": (*DISPATCH, "--queue=joined_tasks"),
    "db": (
        *(*DJANGO, "db_worker", "--backend=db", "--queue-name=tasks", "--no-reload"),
        *("--interval=0.01", "--no-startup-delay", "-v0"),
    ),
}
QUIET_S = 30.0  # after this long without a task the run has ended
LONGEST_S = 120.0
UNENDED = {
    "db": "SELECT count(*) FROM django_tasks_database_dbtaskresult"
    " WHERE status IN ('READY', 'RUNNING')"
}
OURS = (
    "SELECT (SELECT count(*) FROM broker_ready) + (SELECT count(*) FROM broker_claim)"
    " + (SELECT count(*) FROM broker_delayed)"
)


@dataclass(frozen=True)
class Outcome:
    """What one run gave."""

    lost: int
    doubled: int
    unended: int  # tasks that say at the end that they wait or run
    back_s: list[float]  # from each kill to the next task


class Run:
    """One backend, its worker, and the notes of its tasks."""

    def __init__(self, backend: str, notes: Path) -> None:
        self.command = COMMANDS[backend]
        self.unended = UNENDED.get(backend, OURS)
        self.enqueues = "default" if backend == "group commit" else backend
        self.notes = notes
        notes.write_bytes(b"")

    def done(self) -> int:
        return self.notes.stat().st_size // work.NOTE.size

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command,
            cwd=settings.BASE_DIR,
            env=environment() | {work.NOTES: str(self.notes)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def until(self, count: int) -> bool:
        """Wait for so many notes; whether they came before it was quiet for long."""
        ends, seen, seen_at = time.monotonic() + LONGEST_S, -1, time.monotonic()
        while (done := self.done()) < count and time.monotonic() < ends:
            if done != seen:
                seen, seen_at = done, time.monotonic()
            elif time.monotonic() - seen_at > QUIET_S:
                return False
            time.sleep(0.002)
        return done >= count

    def send(self, tasks: int) -> None:
        if self.enqueues == "async":  # no task, but the messages of a handler
            make_queue("async_brief")
            bodies = [str(number).encode() for number in range(tasks)]
            put_many([NewMessage("async_brief", one) for one in bodies])
            return
        sender = Enqueuer(self.enqueues, "brief")
        sender.send(range(tasks))
        sender.close()

    def kill(self, tasks: int, kills: int) -> Outcome:
        self.send(tasks)
        worker, back_s = self.start(), []
        for number in range(1, kills + 1):
            self.until(tasks * number // (kills + 1) + random.randint(0, 20))
            time.sleep(random.uniform(0, 0.004))  # anywhere in a task
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            before, killed_at = self.done(), time.monotonic()
            worker = self.start()
            if self.until(before + 1):
                back_s.append(time.monotonic() - killed_at)
        self.until(tasks + kills + 1)  # until it is quiet
        worker.terminate()
        worker.wait()
        ran = Counter(round(one.sent) for one in work.notes(self.notes))
        ((unended,),) = ground.fetch(self.unended)
        twice = sum(count - 1 for count in ran.values())
        return Outcome(tasks - len(ran), twice, unended, back_s)


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--only", choices=COMMANDS, help="one of the backends")
    options = parser.parse_args(arguments)
    with ground.own_database(), TemporaryDirectory() as folder:
        migrate()
        for backend in [options.only] if options.only else COMMANDS:
            one = Run(backend, Path(folder) / "notes").kill(
                options.tasks, options.kills
            )
            back = ", ".join(f"{seconds:.1f}" for seconds in one.back_s)
            print(
                f"{backend}: {options.tasks} tasks, {options.kills} kills: {one.lost}"
                f" never ran, {one.doubled} ran twice, {one.unended} unended;"
                f" back after {back} s",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
