"""Tasks that are got ahead of a worker which ends short tasks quickly.

A worker takes a few tasks at a time. If they are short, it would wait for the next get
most of its time. So at a high pace more tasks are got at once, as many as the worker
ends in a moment; it is given them as it has room. If the pace falls, they are released,
and other workers take them.
"""

from __future__ import annotations

from collections import deque

from broker.queueing.get import Delivery

# As many tasks are got ahead as the worker ends in this time, at its last pace.
AHEAD_S = 0.05
MOST = 100  # most tasks got ahead
# If no task of the stock is given to the worker for this long, the stock is released.
IDLE_S = 0.25


class ReadAhead:
    """The stock of one consumer, and the pace of its worker. Times are monotonic
    seconds."""

    def __init__(self) -> None:
        self.stock: deque[Delivery] = deque()
        self.wanted = 0  # tasks to have in stock
        self.given = 0  # tasks given to the worker since the last get
        self.got_at = self.given_at = 0.0

    @property
    def is_low(self) -> bool:
        return 2 * len(self.stock) <= self.wanted

    @property
    def idle_at(self) -> float:
        """The time at which to release the stock."""
        return self.given_at + IDLE_S

    def next(self, limit: int, now: float) -> list[Delivery]:
        """Take up to ``limit`` tasks from the stock, to give them to the worker."""
        count = min(limit, len(self.stock))
        if count:
            self.given += count
            self.given_at = now
        return [self.stock.popleft() for _ in range(count)]

    def measure(self, now: float) -> None:
        """Measure the pace since the last get; a get follows."""
        pace = self.given / max(now - self.got_at, 0.001)
        self.given, self.got_at = 0, now
        self.wanted = min(int(pace * AHEAD_S), MOST)

    def empty(self) -> list[Delivery]:
        """Take everything out; whoever takes it releases it."""
        left = list(self.stock)
        self.stock.clear()
        self.wanted = 0
        return left
