"""A client that goes on beside heavy work, and how long each message took it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from django.conf import settings
from django.db import connection

from broker.queueing import processes
from tests.bench.figures import percentile
from tests.bench.workloads import get, put

QUEUE = "live"
PAUSE_S = 0.005  # between two messages: it is to wait for nobody but the server


@dataclass
class Took:
    """Milliseconds of each put, and of each get with its acceptance."""

    put: list[float] = field(default_factory=list)
    get: list[float] = field(default_factory=list)

    def __iadd__(self, other: Took) -> Took:
        self.put += other.put
        self.get += other.get
        return self

    @property
    def p99(self) -> float:
        """Of both together."""
        return percentile(
            [sum(one) for one in zip(self.put, self.get, strict=True)], 99
        )


@dataclass
class Live:
    """The client's process; ``mark`` ends one period and begins the next."""

    pipe: Connection

    def mark(self) -> Took:
        self.pipe.send(None)
        took: Took = self.pipe.recv()
        return took

    def over(self, seconds: float) -> Took:
        self.mark()
        time.sleep(seconds)
        return self.mark()


@contextmanager
def client(database: str) -> Iterator[Live]:
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
    took = Took()
    while True:
        took.put.append(milliseconds_of(put))
        took.get.append(milliseconds_of(get))
        if marks.poll(PAUSE_S):
            try:
                marks.recv()
            except EOFError:
                break
            marks.send(took)
            took = Took()
    processes.resign()
    connection.close()


def milliseconds_of(deed: Callable[[str, int], int]) -> float:
    began = time.perf_counter()
    deed(QUEUE, 1)
    return (time.perf_counter() - began) * 1000
