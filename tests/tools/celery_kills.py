"""Workers of Celery that are killed in the middle of 1,000 tasks: what is lost, what is
done twice, and how long it takes until their tasks come back.

    manage.py with_servers python -m tests.tools.celery_kills backout:// 3

The second worker starts when the first is dead. Late acknowledgement; each task writes
a line. The broker is the first argument, the number of rounds the second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import django

TASKS, KILLED_AT = 1000, 300
WAIT_S = 0.005
GIVES_UP_S = 60.0  # without a new task
COMMAND = (sys.executable, "-m", "celery", "-A", "tests.celery_peer.app")


def main(url: str, rounds: int) -> None:
    os.environ["PEER_BROKER"] = url
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from tests.amqp.launching import database_url  # noqa: PLC0415
    from tests.bench import ground  # noqa: PLC0415
    from tests.celery_peer.app import app, note  # noqa: PLC0415

    with ground.own_database():
        os.environ["DATABASE_URL"] = database_url()  # of the workers
        for number in range(rounds):
            with TemporaryDirectory() as folder:
                told = one_round(Path(folder) / "notes", app, note)
            print(f"{url} round {number + 1}: {told}", flush=True)


def worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "worker", "-l", "ERROR", "--concurrency=8"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def one_round(notes: Path, app: object, note: object) -> str:
    notes.touch()
    for number in range(TASKS):
        note.delay(str(notes), str(number), WAIT_S)  # type: ignore[attr-defined]
    first = worker()
    while count(notes) < KILLED_AT:
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    killed_at = time.time()
    before = {line.split()[0] for line in notes.read_text().splitlines()}
    second = worker()
    while len(done(notes)) < TASKS and time.time() - last(notes) < GIVES_UP_S:
        time.sleep(0.05)
    os.killpg(second.pid, signal.SIGTERM)
    second.wait()
    times = Counter(line.split()[0] for line in notes.read_text().splitlines())
    doubled = sum(1 for n in times.values() if n > 1)
    after = [line.split() for line in notes.read_text().splitlines()]
    back = [float(at) for n, at in after if float(at) > killed_at]
    return (
        f"{len(before)} of {TASKS} done before the kill; {TASKS - len(times)} never,"
        f" {doubled} twice; the last {max(back) - killed_at:.1f} s after it"
    )


def count(notes: Path) -> int:
    return notes.read_bytes().count(b"\n")


def done(notes: Path) -> set[str]:
    return {line.split()[0] for line in notes.read_text().splitlines() if " " in line}


def last(notes: Path) -> float:
    return notes.stat().st_mtime


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
