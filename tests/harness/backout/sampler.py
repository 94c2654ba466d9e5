"""The samples: what was done since the last ones, and how deep the queue is."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from django.db import Error as DatabaseError
from django.db import connection

from broker.queueing.journal import Depth
from tests.harness.backout import meters, queue
from tests.harness.backout.meters import Totals
from tests.harness.backout.producer import Producer
from tests.harness.contract import (
    SHARES,
    Lines,
    Pace,
    Told,
    Window,
    say,
    until_next_tick_s,
)

LOOK_AT_DEPTH_S = 0.25


class Sampler:
    """Writes the samples of one adapter."""

    def __init__(
        self,
        told: Told,
        pace: Pace,
        producer: Producer,
        folder: Path,
        stopping: threading.Event,
    ) -> None:
        self.told = told
        self.pace = pace
        self.producer = producer
        self.folder = folder
        self.stopping = stopping
        self.lines = Lines(queue.SYSTEM, told)
        self.windows = {name: Window() for name in ("producer", "began", "ended")}
        self.depth = Depth()
        self.dead_letters = 0
        self.last = self.totals()
        self.last_put = 0
        self.last_at = time.monotonic()

    def totals(self) -> Totals:
        return meters.read(self.folder)

    def look(self) -> None:
        """Look at the depth of the queue again and again, in a thread of its own."""
        while not self.stopping.wait(LOOK_AT_DEPTH_S):
            if self.told.replica and self.told.mode == "fixed":
                continue  # nobody needs it
            try:
                self.depth = queue.depths()
                self.dead_letters = queue.depths(queue.DEAD_LETTERS).ready
            except DatabaseError as error:
                say(f"The depth is not known: {error!r}"[:300])
                connection.close()
            self.pace.depth = self.depth.ready

    def run(self) -> None:
        every_s = self.told.sample_every_s
        self.stopping.wait(until_next_tick_s(every_s))
        self.last, self.last_put = self.totals(), self.producer.put
        self.last_at = time.monotonic()
        while not self.stopping.wait(until_next_tick_s(every_s)):
            self.sample()

    def sample(self) -> None:
        """Write all metrics since the last time."""
        now, totals, put = time.monotonic(), self.totals(), self.producer.put
        passed = max(now - self.last_at, 0.001)
        counts = {
            "producer": list(self.producer.calls),
            "began": totals.began,
            "ended": totals.ended,
        }
        times = {
            kind: dict(zip(SHARES, window.quantiles_ms(now, counts[kind]), strict=True))
            for kind, window in self.windows.items()
        }
        metrics = {
            f"{name}_{share}_ms": times[kind][share]
            for name, kind in (
                ("claim", "began"),
                ("subscriber", "began"),
                ("end_to_end", "ended"),
                ("producer", "producer"),
            )
            for share in SHARES
        }
        rates = {
            "enqueue_rate": put - self.last_put,
            "completion_rate": totals.completed - self.last.completed,
            "retryable_failure_rate": totals.failed - self.last.failed,
            "dead_letter_rate": totals.dead - self.last.dead,
        }
        metrics |= {name: count / passed for name, count in rates.items()}
        metrics |= {
            "queue_depth": self.depth.ready,
            "running_depth": self.depth.claimed,
            "retryable_depth": self.depth.delayed,
            "total_backlog": self.depth.total,
            "dlq_depth": self.dead_letters,
            "producer_target_rate": self.target(),
            "producer_errors": self.producer.errors,
        }
        self.lines.sample(metrics)
        self.last, self.last_put, self.last_at = totals, put, now

    def target(self) -> float:
        return self.told.rate_now() if self.told.mode == "fixed" else 0.0
