"""Starts the clients, kills them and the database, and counts at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import django

django.setup()

from django.db import Error as DatabaseError  # noqa: E402
from django.db import connection  # noqa: E402

from broker.housekeeping import work  # noqa: E402
from broker.monitoring import fsck  # noqa: E402
from broker.queueing import processes  # noqa: E402
from broker.settlement.settle import DIED  # noqa: E402
from tests.broker import crashing  # noqa: E402
from tests.make import make_queue, make_setting  # noqa: E402
from tests.tools.broker_faults.working import (  # noqa: E402
    BATCHES,
    FAILS,
    GRAVEYARD,
    QUEUE,
    TABLES,
)

Job = tuple[str, tuple[int, ...]]  # the role of a client, and its numbers

EVERY_S = 1.0
LONGEST_S = 3600.0
# A message that is delivered twice stays on the queue: its number is there already.
COUNTS = """
SELECT (SELECT count(*) FROM sent), (SELECT count(*) FROM handled),
    (SELECT count(*) FROM broker_ready) + (SELECT count(*) FROM broker_delayed)
    + (SELECT coalesce(sum(cardinality(ids)), 0) FROM broker_claim)
    - (SELECT count(*) FROM broker_dead_letter),
    (SELECT count(*) FROM broker_dead_letter)"""
# Dead letters that were handled, too, or twice, or that had another number of attempts.
# The first of them are right if the process of a consumer loop was killed at their last
# attempt, after it had noted the number.
WRONG = """
SELECT
    count(*) FILTER (WHERE letters > 1 OR backout_count <> %s
        OR handled IS NOT NULL AND NOT (%s AND error = %s)),
    count(handled)
FROM (
    SELECT convert_from(body, 'UTF8')::bigint AS number, backout_count, error,
        count(*) OVER (PARTITION BY origin_id) AS letters
    FROM broker_dead_letter AS letter
    JOIN broker_message ON broker_message.id = letter.message_id
) AS letter LEFT JOIN handled USING (number)"""


@dataclass
class Client:
    """A process that is started again when it ends."""

    role: str
    numbers: tuple[int, ...]
    url: str
    process: subprocess.Popen[bytes] = field(init=False)
    starts: int = 0

    def start(self) -> None:
        command = (sys.executable, "-m", "tests.tools.broker_faults.working")
        self.process = subprocess.Popen(
            [*command, self.role, *map(str, self.numbers)],
            env=os.environ | {"DATABASE_URL": self.url},
            stderr=subprocess.DEVNULL,
        )
        self.starts += 1

    def look(self) -> None:
        """Start it again, unless it is done."""
        if self.process.poll() not in (None, 0):
            self.start()

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait()


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--fails", type=int, default=FAILS, help="one in so many")
    parser.add_argument(
        "--attempts", type=int, default=-1, help="of a message; -1: no limit"
    )
    parser.add_argument(
        "--loop", action="store_true", help="consumer loops, not units of work"
    )
    options = parser.parse_args()
    with TemporaryDirectory() as folder, crashing.server(Path(folder)) as server:
        make_queue(QUEUE)
        make_queue(GRAVEYARD)
        make_setting(
            QUEUE,
            max_delivery_attempts=options.attempts,
            dead_letter_address=GRAVEYARD,
        )
        with connection.cursor() as cursor:
            cursor.execute(TABLES)
        began = time.monotonic()
        consumers: list[Job] = [("consume", (one, options.fails)) for one in BATCHES]
        if options.loop:
            consumers = [("loop", (options.fails,))] * len(BATCHES)
        with running(server.url, options.messages, consumers) as clients:
            struck = strike(
                server, clients, options.messages, options.kills, Random(options.seed)
            )
            took_s = time.monotonic() - began
        return tell(struck, took_s, options.attempts, in_loops=options.loop)


@contextmanager
def running(
    url: str, messages: int, consumers: Sequence[Job]
) -> Iterator[list[Client]]:
    """A producer, and two of each consumer."""
    clients = [Client("produce", (messages,), url)]
    clients += [Client(*one, url) for one in consumers for _ in range(2)]
    for one in clients:
        one.start()
    try:
        yield clients
    finally:
        for one in clients:
            one.end(signal.SIGTERM)


def strike(
    server: crashing.Server,
    clients: list[Client],
    messages: int,
    kills: int,
    random: Random,
) -> dict[str, int]:
    """Kill something each time another share is handled; return what was killed."""
    struck = dict.fromkeys(["database", *(one.role for one in clients)], 0)
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        time.sleep(EVERY_S)
        for one in clients:
            one.look()
        _, handled, waiting, letters = counted()
        if clients[0].process.poll() == 0 and waiting == 0:
            return struck
        if handled + letters > messages * (sum(struck.values()) + 1) / (kills + 1):
            victim = random.choice([server, *clients])
            if isinstance(victim, Client):
                victim.end(signal.SIGKILL)
                struck[victim.role] += 1
            else:
                server.crash()
                struck["database"] += 1
    raise TimeoutError(f"Not done within {LONGEST_S:g} s: {counted()}")


def counted() -> tuple[int, int, int, int]:
    """Messages sent, handled, and waiting, and dead letters; housekeeping is done
    before."""
    try:
        processes.renew("worker")
        work.back_out_overdue()
        work.release()
        work.fold_journal()
        work.vacuum_bloated()
        with connection.cursor() as cursor:
            cursor.execute(COUNTS)
            sent, handled, waiting, letters = cursor.fetchone()
    except DatabaseError:
        connection.close()
        return 0, 0, -1, 0
    return sent, handled, waiting, letters


def tell(
    struck: dict[str, int], took_s: float, attempts: int, *, in_loops: bool
) -> int:
    sent, handled, waiting, letters = counted()
    with connection.cursor() as cursor:
        cursor.execute(WRONG, [attempts, in_loops, DIED])
        wrong, both = cursor.fetchone()
    found = fsck.violations()
    killed = ", ".join(f"{count} × {what}" for what, count in struck.items())
    print(f"Killed: {killed}.")
    print(
        f"Sent {sent:,}, handled once {handled:,}, dead letters {letters:,} (wrong:"
        f" {wrong}; handled, too: {both}), still waiting {waiting:,}; {took_s:.0f} s."
    )
    print(f"broker_fsck: {len(found)} violations.", *found[:10], sep="\n")
    return int(bool(waiting or found or wrong or sent != handled + letters - both))


if __name__ == "__main__":
    sys.exit(main())
