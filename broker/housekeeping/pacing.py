"""Pace of an operation's steps: full speed alone, short steps with rests beside others.

After each step, the number of transactions that others have written since the last one
tells whether producers and consumers are at work. If so, a step is short and is
followed by a rest, in which they have the processors, the log and the locks to
themselves. If not, steps are long, because a long step costs less for each message.

The rate limit of an operation is independent of this (``rate_limit``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from broker.operations.lifecycle import BATCH, step
from broker.sql import last_write

ALONE_S = 0.1  # length of a step when nobody else is at work
BESIDE_S = 0.02  # length of a step beside others
RESTS = 3  # length of a rest, in steps
# Items of one step. Alone, ``BATCH`` at least, however slow the machine: more steps
# would take more of its processors.
FEWEST, MOST = 200, 2000
LIVELY = 20  # transactions of others in a second; housekeeping needs fewer
OWN = 3  # transactions of one step: its own, and those of its savepoints


@dataclass(frozen=True, slots=True)
class Reading:
    """The number of the last write at one moment."""

    write: int
    at_s: float

    @classmethod
    def now(cls) -> Reading:
        return cls(last_write(), time.monotonic())


def is_lively(before: Reading, after: Reading) -> bool:
    """Whether others were at work between two readings, with one step of an operation
    between them."""
    others = after.write - before.write - OWN
    return others > LIVELY * (after.at_s - before.at_s)


def items_of_next(items: int, took_s: float, *, lively: bool) -> int:
    """The number of items of the next step: as many as fit its length, at most twice as
    many as before.

    Args:
        items: items of the last step, as far as it was allowed to go.
        took_s: how long the last step took.
        lively: whether others are at work.
    """
    length_s, fewest = (BESIDE_S, FEWEST) if lively else (ALONE_S, BATCH)
    fitting = int(items * length_s / max(took_s, 0.001))
    return max(fewest, min(fitting, 2 * items, MOST))


def rest_s(took_s: float, *, lively: bool) -> float:
    """How long to rest after a step. A step that waited long itself, for a lock or a
    slow disk, is no reason to rest for longer than ``RESTS`` long steps."""
    return RESTS * min(took_s, ALONE_S) if lively else 0.0


@dataclass
class Pacer:
    """Makes steps of operations, one after the other."""

    items: int = FEWEST
    lively: bool = False
    last: Reading = field(default_factory=Reading.now)

    def step(self, operation_id: int) -> int:
        """Make a step, and rest if others are at work; return how many items it
        processed. Zero: as ``lifecycle.step``."""
        began_s = time.monotonic()
        processed = step(operation_id, limit=self.items)
        took_s = time.monotonic() - began_s
        if not processed:
            return 0
        reading = Reading.now()
        self.lively = is_lively(self.last, reading)
        self.items = items_of_next(self.items, took_s, lively=self.lively)
        time.sleep(rest_s(took_s, lively=self.lively))
        self.last = reading
        return processed


def steps(operation_id: int) -> Iterator[int]:
    """Make all steps of an operation that can be made now; yields how many items each
    has processed."""
    pacer = Pacer()
    while processed := pacer.step(operation_id):
        yield processed
