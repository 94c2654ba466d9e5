"""The consumer loop, left and failed at random: nothing is lost, and nothing twice."""

from __future__ import annotations

from collections import Counter
from itertools import chain, repeat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.client import Delivery, consumer, put
from broker.models import Claim, Event, Kind, Ready
from broker.monitoring import fsck
from tests.broker.consuming import Failed
from tests.examples import examples
from tests.make import make_queue

ON, RAISE, BREAK, BACK_OUT, PUT = range(5)
MOVES = st.lists(st.sampled_from(range(5)), max_size=12)


class Program:
    """Consumes until the queue is empty, and notes what ought to happen.

    Args:
        moves: what its body does with one delivery after the other; later it goes on.
        batch: as of ``consumer``.
    """

    def __init__(self, moves: list[int], batch: int) -> None:
        self.moves = chain(moves, repeat(ON))
        self.batch = batch
        self.given: list[Delivery] = []  # in the unit of work that is open
        self.puts: list[bytes] = []  # in it
        self.accepted: Counter[int] = Counter()
        self.backouts: Counter[int] = Counter()
        self.sent: list[bytes] = []

    def run(self) -> None:
        is_empty = False
        while not is_empty:
            try:
                is_empty = self.consume()
            except Failed:
                self.end(well=False)
            else:
                self.end()

    def consume(self) -> bool:
        """Return whether the queue is empty; else the body has left the loop."""
        with consumer("orders", batch=self.batch, timeout_s=0) as deliveries:
            for delivery in deliveries:
                if self.given and self.given[0].uow != delivery.uow:
                    self.end()
                self.given.append(delivery)
                assert delivery.backout_count == self.backouts[delivery.message_id]
                move = next(self.moves)
                if move == RAISE:
                    raise Failed
                if move == BREAK:
                    return False
                if move == PUT:
                    self.puts.append(delivery.body)
                    deliveries.put("answers", delivery.body)
                if move == BACK_OUT:
                    deliveries.back_out(Failed())
                    self.end(well=False)
        return True

    def end(self, *, well: bool = True) -> None:
        """Note the end of the open unit of work."""
        ids = [delivery.message_id for delivery in self.given]
        (self.accepted if well else self.backouts).update(ids)
        self.sent += self.puts if well else []
        self.given, self.puts = [], []


@pytest.fixture
def queues(transactional_db: None) -> None:
    for name in ("orders", "answers"):
        make_queue(name)


@settings(
    max_examples=examples(90),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(moves=MOVES, batch=st.integers(1, 4), count=st.integers(0, 6))
@pytest.mark.spec("UOW-1", "UOW-2", "UOW-4")
def test_each_message_is_accepted_once_and_backouts_are_counted(
    queues: None, moves: list[int], batch: int, count: int
) -> None:
    ids = [put("orders", str(n).encode()).message_id for n in range(count)]

    program = Program(moves, batch)
    program.run()

    events = Event.objects.filter(kind=Kind.ACCEPT)
    in_journal = Counter(n for one in events for n in one.ids if n in ids)
    assert program.accepted == in_journal == Counter(ids)
    assert not Claim.objects.exists()
    with consumer("answers", timeout_s=0) as answers:
        assert [delivery.body for delivery in answers] == program.sent
    assert not Ready.objects.exists()
    assert fsck.violations() == []
