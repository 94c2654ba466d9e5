"""Kill a dispatcher again and again, with poison among the messages.

    manage.py with_servers python -m tests.tools.killed_workers.poisoned --kills 50

A leased handler, whose sessions commit as a group, or a joined one, which writes a row.
Each begun attempt is noted with the backout count that its message had. One message of
twenty fails each time. At the end each message was accepted, or is a dead letter with
all of its attempts; and each counted attempt had begun.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import django

django.setup()

from django.conf import settings  # noqa: E402

from broker.monitoring import fsck  # noqa: E402
from broker.queueing.put import NewMessage, put_many  # noqa: E402
from tests.bench import ground  # noqa: E402
from tests.bench.django_tasks import environment  # noqa: E402
from tests.bench.workloads import GRAVEYARD  # noqa: E402
from tests.handlers_bench import work  # noqa: E402
from tests.make import make_queue, make_setting  # noqa: E402

QUEUES = {"leased": "poisoned", "joined": "poisoned_rows"}
ATTEMPTS = 8
UP_S = (0.8, 2.5)  # how long a dispatcher lives
QUIET_S = 60.0  # longest time without a new note
LEFT = f"""
SELECT count(*) FROM (SELECT queue_id FROM broker_ready
    UNION ALL SELECT queue_id FROM broker_claim
    UNION ALL SELECT queue_id FROM broker_delayed) AS entry
JOIN broker_queue AS queue ON queue.id = queue_id WHERE name <> '{GRAVEYARD}'"""
LETTERS = "SELECT origin_id, backout_count FROM broker_dead_letter"
ROWS = "SELECT body, count(*) FROM bench_row GROUP BY 1"


@contextmanager
def dispatcher(queue: str, notes: Path) -> Iterator[None]:
    """A dispatcher with a process for each core; all of it is killed."""
    command = [sys.executable, "-m", "django", "broker_dispatch", f"--queue={queue}"]
    process = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env=environment() | {work.NOTES: str(notes)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for_work(notes: Path) -> None:
    """Until something was noted that was not before."""
    before, began = notes.stat().st_size, time.monotonic()
    while notes.stat().st_size == before and time.monotonic() - began < QUIET_S:
        time.sleep(0.002)


def wait_for_all() -> None:
    began = time.monotonic()
    while ground.fetch(LEFT) != [(0,)] and time.monotonic() - began < QUIET_S:
        time.sleep(0.1)


def run(kind: str, notes: Path, *, messages: int, kills: int) -> str:
    queue, ids = QUEUES[kind], []
    notes.write_bytes(b"")
    bodies = [str(number).encode() for number in range(messages)]
    for start in range(0, messages, 1000):
        some = [NewMessage(queue, one) for one in bodies[start : start + 1000]]
        ids += [receipt.message_id for receipt in put_many(some)]
    for _ in range(kills):
        with dispatcher(queue, notes):
            wait_for_work(notes)
            time.sleep(random.uniform(*UP_S))
    ((left,),) = ground.fetch(LEFT)
    with dispatcher(queue, notes):
        wait_for_all()
    return f"{left:,} were left after the last kill; " + told(kind, notes, ids)


def told(kind: str, notes: Path, ids: Sequence[int]) -> str:
    """What has become of the messages, in a sentence."""
    begun: dict[int, list[int]] = defaultdict(list)  # backout counts
    for one in work.notes(notes):
        number, backouts = work.attempt(one)
        begun[number].append(backouts)
    number_of = {message_id: number for number, message_id in enumerate(ids)}
    letters = {number_of[origin]: count for origin, count in ground.fetch(LETTERS)}
    found: Counter[str] = Counter()
    for number in range(len(ids)):
        counts, is_poison = begun[number], work.is_poison(number)
        counted = letters.get(number, max(counts, default=0))
        noted = len(counts) - (number not in letters)
        found["lost"] += not counts
        found["poison that is no dead letter"] += is_poison and number not in letters
        found["good dead letters"] += not is_poison and number in letters
        found["counted attempts that had not begun"] += max(counted - noted, 0)
        found["begun attempts that were not counted"] += max(noted - counted, 0)
        found["redelivered after a kill"] += not is_poison and len(counts) > 1
    ((left,),) = ground.fetch(LEFT)
    found["left"] = left
    if kind == "joined":
        rows = Counter(dict(ground.fetch(ROWS)))
        accepted = {str(n) for n in range(len(ids)) if n not in letters}
        found["rows not written once"] = sum(rows[one] != 1 for one in accepted)
        found["rows of dead letters"] = len(rows.keys() - accepted)
    found["violations"] = len(fsck.violations())
    return f"{len(letters):,} dead letters; " + ", ".join(
        f"{name} {count:,}" for name, count in found.items()
    )


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=40_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", choices=QUEUES, help="one of the handlers")
    options = parser.parse_args(arguments)
    for kind in [options.only] if options.only else QUEUES:
        with ground.own_database(), TemporaryDirectory() as folder:
            make_queue(QUEUES[kind])
            make_setting(
                QUEUES[kind],
                max_delivery_attempts=ATTEMPTS,
                dead_letter_address=GRAVEYARD,
            )
            ground.fetch("CREATE TABLE bench_row (body text NOT NULL)")
            numbers = {"messages": options.messages, "kills": options.kills}
            said = run(kind, Path(folder) / "notes", **numbers)
            print(f"{kind}: {numbers}: {said}.", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
