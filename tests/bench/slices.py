"""Short slices of work in random order, round by round: noise hits all alike."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from tests.bench.clients import Clients, Order, Slice
from tests.bench.workloads import CHANGES, GRAVEYARD

# Messages a second that nobody takes: stocked for a slice, so that it never ends
# before its time.
FASTEST = {1: 8_000, 10: 50_000, 100: 200_000, 1000: 300_000}
DYING = {
    "die",
    "die_at_once",
    "put_and_die",
    "fail_in_loop",
}  # work that ends on the graveyard


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    seconds: float  # of a slice
    delayed: int  # messages beside which a queue is read
    held: int  # messages that pass while a snapshot is held
    held_singly: int  # of them, in units of work of their own
    letters: int  # dead letters that an operator resubmits
    herd: int  # messages due in one second, beside those delayed
    again: int  # messages that are backed out again and again
    times: int
    deep: tuple[int, ...]  # messages of a queue that is browsed
    through: int  # messages that come and go


FULL = Size(
    rounds=8,
    seconds=0.4,
    delayed=1_000_000,
    held=300_000,
    held_singly=10_000,
    letters=100_000,
    herd=100_000,
    again=5_000,
    times=60,
    deep=(1_000_000, 5_000_000),
    through=2_000_000,
)
SHORT = replace(FULL, rounds=6, deep=(1_000_000,), through=500_000)
QUICK = Size(
    rounds=6,
    seconds=0.15,
    delayed=50_000,
    held=60_000,
    held_singly=2_000,
    letters=10_000,
    herd=10_000,
    again=500,
    times=20,
    deep=(50_000,),
    through=100_000,
)


@dataclass(frozen=True)
class Result:
    """One line of the table: the slices of one kind of work."""

    work: str
    batch: int
    rates: list[float]  # messages a second
    against: str = ""
    ratios: list[float] = field(default_factory=list)  # to slices of the same rounds
    slices: list[Slice] = field(default_factory=list)  # where their cost is told
    processors: list[float] = field(default_factory=list)  # the other's cost, by ours

    @property
    def rate(self) -> float:
        return median(self.rates)

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.ratios else None

    @property
    def processor(self) -> float | None:
        """As ``ratio``: above 1 is the advantage of this work."""
        return median(self.processors) if self.processors else None


def alone(work: str, batch: int, mine: list[Slice]) -> Result:
    return Result(work, batch, [one.rate for one in mine], slices=mine)


def beside(
    work: str, batch: int, mine: list[Slice], against: str, theirs: list[Slice]
) -> Result:
    """By time, and by processor where both are metered."""
    pairs = [
        (one.cost_s, other.cost_s) for one, other in zip(mine, theirs, strict=True)
    ]
    return replace(
        alone(work, batch, mine),
        against=against,
        ratios=ratios([one.rate for one in mine], [one.rate for one in theirs]),
        processors=[other / one for one, other in pairs if one and other],
    )


class Cell:
    """What is compared with each other, and the sums of what was done."""

    def __init__(self, clients: Clients, size: Size) -> None:
        self.clients = clients
        self.size = size
        self.ready: Counter[str] = Counter()  # that should be, by queue

    def do(self, order: Order) -> Slice:
        done = self.clients.do(order)
        self.ready[order.queue] += CHANGES.get(order.work, 0) * done.messages
        if order.work in DYING:
            self.ready[GRAVEYARD] += done.messages
        return done

    def stock(self, queue: str, messages: float) -> None:
        """Put what is missing, so that each slice begins at the same depth."""
        missing = (messages - self.ready[queue]) / len(self.clients.pipes)
        if missing > 0:
            self.do(Order("put", 1000, queue, most=missing))

    def rates(self, orders: Mapping[str, Order]) -> dict[str, list[float]]:
        """Messages a second of each kind of work, round by round."""
        found = self.slices(orders)
        return {name: [one.rate for one in slices] for name, slices in found.items()}

    def slices(self, orders: Mapping[str, Order]) -> dict[str, list[Slice]]:
        """The slices of each kind of work, round by round."""
        found: dict[str, list[Slice]] = {name: [] for name in orders}
        for number in range(self.size.rounds + 1):
            for name in random.sample(list(orders), len(orders)):
                order = orders[name]
                if CHANGES.get(order.work) == -1:
                    clients = len(self.clients.pipes)
                    fastest = FASTEST[order.batch] * clients
                    self.stock(order.queue, fastest * order.seconds)
                done = self.do(order)
                if number:  # the first round warms up
                    found[name].append(done)
        return found


def ratios(these: list[float], those: list[float]) -> list[float]:
    return [this / that for this, that in zip(these, those, strict=True)]
