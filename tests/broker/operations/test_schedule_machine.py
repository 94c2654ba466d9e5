"""Whatever people, workers and consumers do to an operation, it sends no more than its
pace, its trials and its rests allow, and its ledger says what became of each."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker import operations
from broker.errors import OperationNotPlanned
from broker.models import Experience, Operation, OperationItem, OperationSchedule
from broker.monitoring import fsck
from broker.operations import canary as canaries
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on, plan
from tests.broker.going_on import START
from tests.make import seconds

Stage, State, Status = OperationSchedule.Stage, Operation.State, OperationItem.Status
Outcome = OperationItem.Outcome
MESSAGES = 60


class ScheduleMachine(RuleBasedStateMachine):
    """The model counts what it lets happen, and knows nothing of items."""

    @initialize(canary=st.integers(0, 12), pace=st.sampled_from([None, 3, 50]))
    def an_operation_begins(self, canary: int, pace: int | None) -> None:
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        make_dead_letters(MESSAGES)
        self.operation = plan()
        operations.arrange(self.operation.pk, pace=pace, canary=canary)
        self.now, self.canary = START, canary
        self.pace, self.may_send = pace, float(pace or 0)
        self.paused, self.at_once = False, False
        self.ends: Counter[str] = Counter()
        self.sent_before = 0
        operations.start(self.operation.pk, now=self.now)
        self.sends()

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    @property
    def schedule(self) -> OperationSchedule:
        return OperationSchedule.objects.get(pk=self.operation.pk)

    @property
    def sent(self) -> int:
        return self.operation.items.filter(status=Status.DONE).count()

    @property
    def is_running(self) -> bool:
        return Operation.objects.get(pk=self.operation.pk).state == State.RUNNING

    def sends(self) -> None:
        """Something may have been sent: not more than the pace allows."""
        more = self.sent - self.sent_before
        self.sent_before += more
        if self.pace is not None:
            self.may_send -= more
            assert self.may_send >= -1, "faster than its pace"

    @rule(limit=st.sampled_from([1, 4, 500]))
    def a_worker_steps(self, limit: int) -> None:
        halted = self.schedule.stage == Stage.HALTED
        before = self.sent

        operations.step(self.operation.pk, limit=limit, now=self.now)

        assert self.sent - before <= limit
        assert self.sent == before or not (self.paused or halted)
        self.sends()

    @rule(limit=st.sampled_from([1, 500]))
    def a_worker_looks(self, limit: int) -> None:
        operations.settle(self.operation.pk, limit=limit, now=self.now)

    @rule(wait_ms=st.sampled_from([100, 1000, 400_000]))
    def time_passes(self, wait_ms: int) -> None:
        self.now += timedelta(milliseconds=wait_ms)
        more = (self.pace or 0) * wait_ms / 1000
        self.may_send = min(self.may_send + more, 2 * (self.pace or 0) + 1)

    @rule(count=st.integers(1, 15))
    def a_consumer_processes(self, count: int) -> None:
        work = UnitOfWork(now=self.now)
        self.ends["processed"] += len(work.get("orders", count))
        work.commit()

    @rule(
        count=st.integers(1, 2), error=st.sampled_from(["no such customer 1", "full"])
    )
    def a_consumer_fails(self, count: int, error: str) -> None:
        self.ends["dead"] += len(back_out(limit=count, error=error))

    @rule()
    def somebody_pauses_it(self) -> None:
        if self.is_running:
            operations.pause(self.operation.pk)
            self.paused = True

    @rule(at_once=st.sampled_from([False, False, False, True]))
    def somebody_carries_on(self, at_once: bool) -> None:
        try:
            operations.carry_on(self.operation.pk, at_once=at_once, now=self.now)
        except OperationNotPlanned:
            assert not self.is_running
            return
        self.paused, self.at_once = False, self.at_once or at_once
        self.may_send = max(self.may_send, 2 * (self.pace or 0) + 1)

    @rule(pace=st.sampled_from([None, 2, 40]))
    def somebody_changes_its_pace(self, pace: int | None) -> None:
        if self.is_running:
            operations.set_pace(self.operation.pk, pace)
            self.pace, self.may_send = pace, 2.0 * (pace or 0) + 1

    @invariant()
    def nothing_is_lost_and_nothing_doubled(self) -> None:
        if hasattr(self, "rollback"):
            assert len(on("orders")) + self.ends.total() == self.sent
            assert len(on("DLQ")) == MESSAGES - self.sent + self.ends["dead"]
            assert fsck.violations() == []

    @invariant()
    def no_trial_is_larger_than_it_may_be(self) -> None:
        if not hasattr(self, "rollback") or self.at_once or not self.canary:
            return
        schedule, parts = self.schedule, [self.canary]
        while more := canaries.next_part(parts[-1], sum(parts)):
            parts.append(more)
        if schedule.stage != Stage.REST:
            assert schedule.tried in [sum(parts[:n]) for n in range(len(parts) + 1)]
            trial = (
                schedule.part - schedule.to_send if schedule.stage == Stage.TRIAL else 0
            )
            assert self.sent <= schedule.tried + trial

    @invariant()
    def the_ledger_says_no_more_than_what_was(self) -> None:
        if not hasattr(self, "rollback"):
            return
        outcomes = Counter(self.operation.items.values_list("outcome", flat=True))
        assert outcomes[Outcome.PROCESSED] <= self.ends["processed"]
        assert outcomes[Outcome.DEAD] <= self.ends["dead"]
        known = Experience.objects.first()
        counted = (known.processed, known.died) if known else (0, 0)
        assert counted == (outcomes[Outcome.PROCESSED], outcomes[Outcome.DEAD])

    @rule()
    def in_the_end_all_is_known(self) -> None:
        """Consumers take everything there is, and nobody holds it up any more."""
        while self.is_running:
            operations.carry_on(self.operation.pk, now=self.now)
            self.paused = False
            self.now += seconds(configured.BROKER_CANARY_PATIENCE_S)
            while operations.step(self.operation.pk, now=self.now):
                pass
            self.sent_before = self.sent
            self.a_consumer_processes(MESSAGES)
        self.may_send = 2.0 * (self.pace or 0) + 1
        self.a_consumer_processes(MESSAGES)
        while operations.settle(self.operation.pk, now=self.now):
            pass
        operations.settle(self.operation.pk, now=self.now)

        outcomes = Counter(self.operation.items.values_list("outcome", flat=True))
        assert outcomes[Outcome.PROCESSED] == self.ends["processed"]
        assert outcomes[Outcome.DEAD] == self.ends["dead"]
        assert self.sent == MESSAGES
        assert self.schedule.settled_at is not None


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.spec("ADMIN-7")
class TestScheduleMachine(ScheduleMachine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
