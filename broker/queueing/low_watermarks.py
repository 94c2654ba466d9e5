"""Low watermarks: positions below which a get need not search.

Deleted entries stay in the index at the head of a lane (one priority of one queue)
until vacuum removes them. One open snapshot delays that. A low watermark, or floor, is
a position of new entries below which no entry can appear any more:

1. A put takes its transaction id before its first message id.
2. A sample reads the last message id M, then takes a transaction id X of its own.
3. Once every transaction below X has ended, all ids up to M are settled: their messages
   are committed and visible to the next get, or were rolled back.
   A transaction that stays open for long need not have put anything, and may be in
   another database. So if the oldest one is in the way for a second, a sample also
   reads who holds the lock that a put takes before its first message id. Once these
   have ended, M is settled as well.
4. A lane's floor rises to the first new entry that a get found in the lane, or to the
   end of the settled ids, whichever is lower.

Entries that returned to their queue have negative positions, which are always searched.
A get that is rolled back may return its entries below a floor. Therefore each queue is
searched without floors once in ``SAFETY_S``, and also after a transaction of this
process was rolled back.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from broker import sql
from broker.sql.lines import database

SAMPLE_S = 0.2
STUCK_S = 1.0
SAFETY_S = 60.0
SAMPLES = (
    600  # two minutes; a longer transaction stops the rise of the floors, not the gets
)
PRIORITIES = range(9, -1, -1)


@dataclass(frozen=True, slots=True)
class Sample:
    last_id: int
    xid: int
    oldest_xid: int


@dataclass(frozen=True, slots=True)
class Putters:
    """The open transactions that may have put messages when ``last_id`` was the last
    message id. A prepared transaction has another name than before."""

    last_id: int
    names: set[str]
    any_prepared: bool

    def have_ended(self, now: Putters) -> bool:
        return not now.any_prepared and self.names.isdisjoint(now.names)


class Floors:
    """The floors that this process knows, by queue and priority."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        # Number of calls of ``forget``. Who keeps positions compares it, to forget
        # them, too.
        self.forgotten = 0
        self.forget()

    def forget(self) -> None:
        """Forget all floors: the next gets search whole lanes."""
        with self.lock:
            self.forgotten += 1
            self.settled = 0  # all message ids up to this id are settled
            self.samples: deque[Sample] = deque(maxlen=SAMPLES)
            self.putters: deque[Putters] = deque(maxlen=SAMPLES)
            self.stuck_since = time.monotonic()  # no sample was settled after that
            self.sampled_at = -SAMPLE_S
            self.lanes: dict[str, dict[int, int]] = defaultdict(dict)
            self.safe_until: dict[str, float] = {}

    def of(self, queue: str) -> list[int]:
        """The floors of a queue, from priority 9 to 0; zeros once in ``SAFETY_S``."""
        self.sample_if_due()
        now = time.monotonic()
        with self.lock:
            if self.safe_until.get(queue, 0) <= now:
                self.safe_until[queue] = now + SAFETY_S
                self.lanes[queue] = {}
            lanes = self.lanes[queue]
            return [lanes.get(priority, 0) for priority in PRIORITIES]

    def raise_to(
        self, queue: str, settled: int, found: Sequence[tuple[int, int]], *, whole: bool
    ) -> None:
        """Raise floors by what a get found.

        Args:
            queue: name of the queue.
            settled: the value of ``settled`` before the get.
            found: priority and position of each entry, in order.
            whole: whether the get has searched all lanes, as it found fewer entries
                than its limit.
        """
        firsts: dict[int, int] = {}
        for priority, pos in found:
            if pos >= 0:
                firsts.setdefault(priority, pos)
        # Lanes of a higher priority than ``last`` were searched to their end.
        last = -1 if whole else found[-1][0]
        with self.lock:
            lanes = self.lanes[queue]
            for priority in PRIORITIES:
                if priority in firsts or priority > last:
                    floor = min(settled + 1, firsts.get(priority, settled + 1))
                    lanes[priority] = max(lanes.get(priority, 0), floor)

    def sample_if_due(self) -> None:
        """Take a sample, at most once in ``SAMPLE_S``, and never inside a caller's
        transaction, whose id would be older than the sample."""
        now = time.monotonic()
        with self.lock:
            if now - self.sampled_at < SAMPLE_S or database().in_atomic_block:
                return
            self.sampled_at = now
        (latest,) = sql.fetch("sample", Sample)
        # The database was restored, or is another one.
        if latest.last_id < self.settled:
            self.forget()
        with self.lock:
            self.samples.append(latest)
            while self.samples and self.samples[0].xid <= latest.oldest_xid:
                self.settle(self.samples.popleft().last_id, now)
            is_stuck = now - self.stuck_since >= STUCK_S
        if is_stuck:
            self.ask_for_putters()

    def ask_for_putters(self) -> None:
        """Settle what open transactions cannot have put."""
        last_id, names, any_prepared = sql.fetch_one("putters")
        latest = Putters(last_id, set(names), any_prepared)
        with self.lock:
            self.putters.append(latest)
            while self.putters and self.putters[0].have_ended(latest):
                self.settled = max(self.settled, self.putters.popleft().last_id)

    def settle(self, last_id: int, now: float) -> None:
        self.settled, self.stuck_since = max(self.settled, last_id), now
        self.putters.clear()


FLOORS = Floors()
