"""The harness's contract with an adapter: what it is told, and the lines it writes.

The contract is CONTRIBUTING_ADAPTERS.md of the harness. Standard output is for JSON
lines only; everything else goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TextIO
from urllib.parse import urlsplit

from tests.harness.histogram import quantiles_ms

WINDOW_S = 30.0  # of latencies
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LOOK_S = 0.05
# What is the same in all replicas, so that only the first one reports it.
OBSERVED = {
    "queue_depth",
    "running_depth",
    "retryable_depth",
    "total_backlog",
    "dlq_depth",
    "producer_target_rate",
}


@dataclass(frozen=True)
class Told:
    """What the harness tells an adapter by environment variables."""

    database_url: str
    mode: str  # fixed, or depth-target
    paced_by: str  # harness: by lines of standard input; adapter
    rate: float  # messages a second, where no file says otherwise
    rate_file: str
    target_depth: int
    workers: int
    payload_bytes: int
    work_ms: float
    batch_max: int
    batch_ms: float
    sample_every_s: int
    replica: int
    fails: str  # success, retryable-first, terminal-always
    fail_first_mod: int
    max_attempts: int | None

    @classmethod
    def read(cls) -> Told:
        get = os.environ.get
        attempts = get("JOB_MAX_ATTEMPTS")
        return cls(
            database_url=os.environ["DATABASE_URL"],
            mode=get("PRODUCER_MODE", "fixed"),
            paced_by=get("PRODUCER_PACING", "adapter"),
            rate=float(get("PRODUCER_RATE", "800")),
            rate_file=get("PRODUCER_RATE_CONTROL_FILE", ""),
            target_depth=int(get("TARGET_DEPTH", "1000")),
            workers=int(get("WORKER_COUNT", "32")),
            payload_bytes=int(get("JOB_PAYLOAD_BYTES", "256")),
            work_ms=float(get("JOB_WORK_MS", "1")),
            batch_max=max(1, int(get("PRODUCER_BATCH_MAX", "128"))),
            batch_ms=float(get("PRODUCER_BATCH_MS", "25")),
            sample_every_s=int(get("SAMPLE_EVERY_S", "5")),
            replica=int(get("BENCH_INSTANCE_ID", "0")),
            fails=get("WORKER_FAIL_MODE", "success").replace("_", "-"),
            fail_first_mod=int(get("JOB_FAIL_FIRST_MOD", "0")),
            max_attempts=int(attempts) if attempts else None,
        )

    @property
    def database(self) -> str:
        return urlsplit(self.database_url).path.lstrip("/")

    def rate_now(self) -> float:
        """The rate at present: phases of high load change it."""
        try:
            return float(Path(self.rate_file).read_text())
        except (OSError, ValueError):
            return self.rate


class Pace:
    """How many messages the producer is to put now.

    Fixed rates are paced by the harness, which writes ``ENQUEUE n`` to standard input,
    or by the time that has really passed.
    """

    def __init__(self, told: Told, stopping: threading.Event) -> None:
        self.told = told
        self.stopping = stopping
        self.depth = 0  # as seen last, for a target depth
        self.tokens: SimpleQueue[int] = SimpleQueue()
        self.is_ready = False
        self.by_harness = told.mode == "fixed" and told.paced_by == "harness"

    def listen(self, lines: TextIO) -> None:
        """Take the harness's lines, in a thread of its own, until it closes them.

        It begins with them when it starts the process. What comes while the database is
        being migrated is not put: it would be a backlog that no phase asked for.
        """
        if self.by_harness:
            threading.Thread(target=self.take, args=[lines], daemon=True).start()

    def take(self, lines: TextIO) -> None:
        for line in lines:
            word, _, number = line.strip().partition(" ")
            if word == "ENQUEUE" and number.isdigit() and self.is_ready:
                self.tokens.put(int(number))

    def batches(self) -> Iterator[int]:
        """The sizes of batches, each when it is due."""
        if self.told.mode == "depth-target":
            return self.to_depth()
        return self.from_tokens() if self.by_harness else self.by_clock()

    def to_depth(self) -> Iterator[int]:
        while not self.stopping.is_set():
            missing = self.told.target_depth - self.depth
            if missing <= 0:
                self.stopping.wait(LOOK_S)
                continue
            size = min(missing, self.told.batch_max)
            self.depth += size  # until the next look
            yield size

    def from_tokens(self) -> Iterator[int]:
        while not self.stopping.is_set():
            try:
                left = self.tokens.get(timeout=0.5)
            except Empty:
                continue
            while left > 0:
                yield min(left, self.told.batch_max)
                left -= self.told.batch_max

    def by_clock(self) -> Iterator[int]:
        credit, last = 0.0, time.monotonic()
        while not self.stopping.wait(self.told.batch_ms / 1000):
            now = time.monotonic()
            credit += self.told.rate_now() * (now - last)
            last = now
            while credit >= 1 and not self.stopping.is_set():
                size = min(int(credit), self.told.batch_max)
                credit -= size
                yield size


@dataclass
class Window:
    """Quantiles of what was counted within the last seconds, from running totals."""

    seen: deque[tuple[float, Sequence[int]]] = field(default_factory=deque)

    def quantiles_ms(self, now_s: float, totals: Sequence[int]) -> list[float]:
        """p50, p95 and p99 since the look that is just as old as the window."""
        while len(self.seen) > 1 and self.seen[1][0] <= now_s - WINDOW_S:
            self.seen.popleft()
        before = self.seen[0][1] if self.seen else [0] * len(totals)
        self.seen.append((now_s, totals))
        counts = [max(a - b, 0) for a, b in zip(totals, before, strict=True)]
        return quantiles_ms(counts, list(SHARES.values()))


class Lines:
    """The lines of one adapter."""

    def __init__(self, system: str, told: Told) -> None:
        self.system = system
        self.told = told

    def describe(self, tables: Sequence[str], version: str, **more: object) -> None:
        self.write(
            kind="descriptor",
            event_tables=list(tables),
            extensions=more.pop("extensions", []),
            version=version,
            schema_version=version,
            db_name=self.told.database,
            started_at=now_text(),
        )

    def sample(self, metrics: dict[str, float]) -> None:
        """Write one line for each metric."""
        at = now_text()
        for metric, value in metrics.items():
            if metric in OBSERVED and self.told.replica:
                continue
            window_s = 0.0
            if metric.endswith("_ms"):
                window_s = WINDOW_S
            elif metric.endswith("_rate") and metric not in OBSERVED:
                window_s = float(self.told.sample_every_s)
            self.write(
                t=at,
                kind="adapter",
                subject_kind="adapter",
                subject="",
                metric=metric,
                value=value,
                window_s=window_s,
            )

    def write(self, **record: object) -> None:
        whose = {"system": self.system, "instance_id": self.told.replica}
        print(json.dumps(record | whose), flush=True)


def now_text() -> str:
    text = datetime.now(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def until_next_tick_s(every_s: int) -> float:
    """Seconds until the clock is at the next multiple of the interval."""
    return every_s - time.time() % every_s


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
