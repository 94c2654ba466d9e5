"""How long the processors of this machine worked, by time."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psutil

EVERY_S = 0.5


class Processor:
    """Samples of the processor time of the whole machine: systems, server, harness."""

    def __init__(self) -> None:
        self.times: list[float] = []  # seconds of the clock
        self.worked: list[float] = []  # seconds of all processors

    def sample(self) -> None:
        self.times.append(time.time())
        self.worked.append(busy_s())

    def between(self, began: float, ended: float) -> float | None:
        """The seconds worked between two times; None if nobody looked then."""
        first = bisect_left(self.times, began)
        last = min(bisect_left(self.times, ended), len(self.times) - 1)
        if first >= last:
            return None
        share = (ended - began) / (self.times[last] - self.times[first])
        return (self.worked[last] - self.worked[first]) * share


@contextmanager
def watched() -> Iterator[Processor]:
    """Sample until the block ends."""
    processor, ended = Processor(), threading.Event()

    def watch() -> None:
        processor.sample()
        while not ended.wait(EVERY_S):
            processor.sample()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield processor
    finally:
        ended.set()
        thread.join()


def busy_s() -> float:
    """Processor time that this machine worked."""
    return worked_s(psutil.cpu_times()._asdict())


def worked_s(spent: Mapping[str, float]) -> float:
    """Without what another machine stole; Linux counts guests as user, too."""
    idle = ("idle", "iowait", "steal", "guest", "guest_nice")
    return sum(spent.values()) - sum(spent.get(name, 0) for name in idle)
