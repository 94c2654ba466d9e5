"""The adapter's process: ``python -m tests.harness.awa_python``."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from importlib.metadata import version as of
from pathlib import Path
from typing import Any

import awa  # type: ignore[import-not-found]  # only where it is measured
import psycopg

from tests.harness.contract import (
    SHARES,
    Lines,
    Pace,
    Told,
    Window,
    say,
    until_next_tick_s,
)
from tests.harness.histogram import SIZE, bucket

SYSTEM = "awa-python"
QUEUE = "awa_longhorizon_bench"
TABLES = json.loads((Path(__file__).parent / "adapter.json").read_text())[
    "event_tables"
]
PARTITIONS = """
SELECT 'awa.' || relname FROM pg_class
WHERE relkind = 'r' AND relispartition AND relnamespace = 'awa'::regnamespace
ORDER BY 1"""
LOOK_S = 0.25
CONNECTIONS = 80  # the least of its adapter in Rust


@dataclass
class LongHorizonJob:
    seq: int
    put_at_ns: int
    fails_first: bool
    padding: str


class Adapter:
    """Producer, handler and samples of one process."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.stopping = threading.Event()
        self.pace = Pace(told, self.stopping)
        self.lines = Lines(SYSTEM, told)
        many = max(CONNECTIONS, 4 * told.workers + 48)
        self.client = awa.AsyncClient(told.database_url, min(many, 300))
        self.put = self.completed = self.failed = self.dead = 0
        self.counts = {name: [0] * SIZE for name in ("producer", "began", "ended")}
        self.windows = {name: Window() for name in self.counts}
        self.depths = {"queue_depth": 0, "running_depth": 0}
        self.last = (0, 0, 0, 0)
        self.last_at = time.monotonic()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stopping.set)
        self.pace.listen(sys.stdin)
        await self.client.migrate()
        self.client.task(LongHorizonJob, queue=QUEUE)(self.handle)
        await self.client.start(
            [{"name": QUEUE, "max_workers": self.told.workers}], poll_interval_ms=50
        )
        self.pace.is_ready = True
        self.lines.describe([*TABLES, *self.partitions()], f"awa-pg {of('awa-pg')}")
        tasks: list[Coroutine[Any, Any, None]] = [
            self.produce(),
            self.look(),
            self.report(),
        ]
        await asyncio.gather(*tasks)
        await self.client.shutdown(timeout_ms=2000)

    def partitions(self) -> list[str]:
        with psycopg.connect(self.told.database_url) as line:
            return [name for (name,) in line.execute(PARTITIONS).fetchall()]

    async def handle(self, job: Any) -> None:
        if self.told.fails == "terminal-always":
            self.dead += 1
            raise awa.TerminalError("As the harness asks for.")
        if job.args.fails_first and job.attempt == 1:
            self.failed += 1
            raise RuntimeError("The first try fails, as the harness asks for.")
        self.count("began", job)
        if self.told.work_ms:
            await asyncio.sleep(self.told.work_ms / 1000)
        self.count("ended", job)
        self.completed += 1

    def count(self, name: str, job: Any) -> None:
        us = (time.time_ns() - job.args.put_at_ns) // 1000
        self.counts[name][bucket(us)] += 1

    async def produce(self) -> None:
        """Its pace blocks, so that waits in a thread."""
        batches = self.pace.batches()
        attempts = self.told.max_attempts or 25
        while (size := await asyncio.to_thread(next, batches, None)) is not None:
            began = time.perf_counter_ns()
            jobs = [self.job(self.put + n) for n in range(size)]
            try:
                await self.client.enqueue_many_copy(
                    jobs, queue=QUEUE, max_attempts=attempts
                )
            except awa.AwaError as error:
                say(f"The producer could not put: {error!r}"[:300])
                await asyncio.sleep(0.2)
                continue
            us = (time.perf_counter_ns() - began) // 1000
            self.counts["producer"][bucket(us)] += 1
            self.put += size

    def job(self, number: int) -> LongHorizonJob:
        mod = self.told.fail_first_mod
        fails = bool(mod) and number % mod == 0
        padding = "x" * max(0, self.told.payload_bytes - 96)
        return LongHorizonJob(number, time.time_ns(), fails, padding)

    async def look(self) -> None:
        """By its health, which is cheap; its exact statistics take long."""
        while not self.stopping.is_set():
            try:
                one = (await self.client.health_check()).queues[QUEUE]
            except (awa.AwaError, KeyError) as error:
                say(f"The depth is not known: {error!r}"[:300])
            else:
                self.depths = {
                    "queue_depth": one.available,
                    "running_depth": one.in_flight,
                }
                self.pace.depth = one.available
            await asyncio.sleep(LOOK_S)

    async def report(self) -> None:
        every_s = self.told.sample_every_s
        while not self.stopping.is_set():
            due = time.monotonic() + until_next_tick_s(every_s)
            while time.monotonic() < due and not self.stopping.is_set():
                await asyncio.sleep(min(0.1, max(due - time.monotonic(), 0)))
            self.sample()

    def sample(self) -> None:
        now = time.monotonic()
        passed = max(now - self.last_at, 0.001)
        present = (self.put, self.completed, self.failed, self.dead)
        names = ("enqueue", "completion", "retryable_failure", "dead_letter")
        metrics: dict[str, float] = {
            f"{name}_rate": (new - old) / passed
            for name, new, old in zip(names, present, self.last, strict=True)
        }
        times = {
            name: window.quantiles_ms(now, list(self.counts[name]))
            for name, window in self.windows.items()
        }
        for metric, name in (
            ("claim", "began"),
            ("subscriber", "began"),
            ("end_to_end", "ended"),
            ("producer", "producer"),
        ):
            for share, value in zip(SHARES, times[name], strict=True):
                metrics[f"{metric}_{share}_ms"] = value
        rate = self.told.rate_now() if self.told.mode == "fixed" else 0.0
        self.lines.sample(metrics | self.depths | {"producer_target_rate": rate})
        self.last, self.last_at = present, now


if __name__ == "__main__":
    asyncio.run(Adapter(Told.read()).run())
