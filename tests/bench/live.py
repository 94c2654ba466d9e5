"""A consumer that goes on beside heavy work, and how long each message took it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from django.conf import settings
from django.db import connection

from broker import owner
from tests.bench.figures import percentile
from tests.bench.workloads import cycle

QUEUE = "live"
PAUSE_S = 0.005  # between two messages: it is to wait for nobody but the server


@dataclass
class Live:
    """The consumer's process; ``mark`` ends one period and begins the next."""

    pipe: Connection

    def mark(self) -> list[float]:
        """Milliseconds of each message since the last mark."""
        self.pipe.send(None)
        took: list[float] = self.pipe.recv()
        return took

    def p99_over(self, seconds: float) -> float:
        self.mark()
        time.sleep(seconds)
        return percentile(self.mark(), 99)


@contextmanager
def consumer(database: str) -> Iterator[Live]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=live, args=(theirs, database), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Live(ours)
    finally:
        ours.close()
        process.join()


def live(marks: Connection, database: str) -> None:
    """Send, take and accept one message after the other until nobody listens."""
    settings.DATABASES["default"]["NAME"] = database
    took: list[float] = []
    while True:
        began = time.perf_counter()
        cycle(QUEUE, 1)
        took.append((time.perf_counter() - began) * 1000)
        if marks.poll(PAUSE_S):
            try:
                marks.recv()
            except EOFError:
                break
            marks.send(took)
            took = []
    owner.resign()
    connection.close()
