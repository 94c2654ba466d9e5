"""A failure that gets the next message in one statement does what two do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.models import Event, Queue
from broker.monitoring import fsck
from broker.queueing.get import Delivery, Next
from broker.queueing.put import put
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.examples import examples
from tests.make import NOON, make_queue, make_setting, seconds


@pytest.fixture(autouse=True)
def attempts(transactional_db: None) -> None:
    make_queue("graves", address="DLA")
    make_setting("#", max_delivery_attempts=3, dead_letter_address="DLA")


class Program:
    """Fails and accepts what a queue gives, one message after the other."""

    def __init__(self, queue: str, *, at_once: bool) -> None:
        self.queue, self.at_once = queue, at_once
        self.work, self.delivery = UnitOfWork(now=NOON), None
        self.seen: list[tuple[object, ...]] = []

    def put(self, priority: int) -> None:
        put(self.queue, priority=priority, now=NOON)

    def get(self) -> None:
        self.note(self.work.get(self.queue))

    def note(self, deliveries: list[Delivery]) -> None:
        for one in deliveries:
            counts = one.priority, one.backout_count, one.delivery_count
            self.seen.append((*counts, one.pos < 0, one.body, one.durable))

    def fail(self, delay_s: int) -> None:
        if self.work.id is None:
            return
        delay = seconds(delay_s) if delay_s else None
        self.go_on(lambda: self.work.back_out(BackOut("no", delay=delay, spread=0)))

    def accept(self) -> None:
        if self.work.id is not None:
            self.go_on(self.work.commit)

    def go_on(self, end: Callable[[], object]) -> None:
        before, self.work.then = self.work, Next(self.queue) if self.at_once else None
        end()
        self.work = UnitOfWork(now=NOON)
        self.work.note(before.following)
        self.note(before.following)
        if not before.following:
            self.get()

    def told(self) -> Counter[str]:
        """What the journal says, without numbers that differ in any case."""
        queue = Queue.objects.get(name=self.queue)
        return Counter(
            f"{one.kind} {one.came_from} {one.went_to} {one.n} {one.at} {one.detail}"
            for one in Event.objects.filter(queue_id=queue.pk)
        )


STEPS = st.one_of(
    st.tuples(st.just(Program.put), st.sampled_from([4, 4, 9, 0])),
    st.tuples(st.just(Program.fail), st.sampled_from([0, 0, 0, 60])),
    st.tuples(st.just(Program.accept)),
)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEPS, max_size=12))
@pytest.mark.spec("REDEL-1", "UOW-4")
def test_one_statement_does_what_two_do(steps: list[tuple[Any, ...]]) -> None:
    both = [Program("as one", at_once=True), Program("as two", at_once=False)]
    for program in both:
        if not Queue.objects.filter(name=program.queue).exists():
            make_queue(program.queue)
    for step, *given_ in [
        (Program.put, 4),
        (Program.put, 4),
        (Program.accept,),
        *steps,
    ]:
        for program in both:
            step(program, *given_)
            if program.work.id is None:
                program.get()
    for program in both:
        while program.work.id is not None:
            program.accept()
    assert both[0].seen == both[1].seen
    assert both[0].told() == both[1].told()
    assert fsck.violations() == []
