"""Whatever operators order and take back among consumers, nothing is lost."""

from __future__ import annotations

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker import operations
from broker.errors import NotResubmittable
from broker.errors.operations import NothingChosen, NotUndoable
from broker.models import Operation, Ready
from broker.monitoring import fsck
from broker.operations import Chosen, Order
from broker.queueing import delayed
from broker.queueing.put import put_many
from broker.settlement import expiry
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import operator
from tests.broker.ordering import ORDERS, make_map
from tests.make import NOON, make_messages, minutes

QUEUES = ["orders", "review", "DLQ", "expired"]
KINDS = [*ORDERS, (Operation.Kind.RESUBMIT, ""), (Operation.Kind.MOVE, "orders")]


class OperationsMachine(RuleBasedStateMachine):
    @initialize()
    def a_map(self) -> None:
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        make_map()
        self.minute = 0.0

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    @rule(
        delay=st.sampled_from([None, 5, 50]),
        life=st.sampled_from([None, 3, 30]),
        priority=st.integers(0, 9),
    )
    def put(self, delay: int | None, life: int | None, priority: int) -> None:
        now = NOON + minutes(self.minute)
        messages = make_messages(
            2,
            priority=priority,
            deliver_at=now + minutes(delay) if delay else None,
            expires_at=now + minutes(life) if life else None,
        )
        put_many(messages, now=now)

    @rule(
        queue=st.sampled_from(QUEUES),
        end=st.sampled_from(["commit", "back out", "hold"]),
    )
    def get(self, queue: str, end: str) -> None:
        work = UnitOfWork(now=NOON + minutes(self.minute))
        work.get(queue)
        if end == "commit":
            work.commit()
        elif end == "back out":
            work.back_out(BackOut("no such customer", spread=0))

    @rule(wait=st.sampled_from([1, 10]))
    def time_passes(self, wait: int) -> None:
        self.minute += wait
        now = NOON + minutes(self.minute)
        delayed.wake_due(limit=100, now=now)
        expiry.expire(limit=100, now=now)

    @rule(
        queue=st.sampled_from(QUEUES),
        order=st.sampled_from(KINDS),
        limit=st.sampled_from([1, 100]),
    )
    def an_operator_orders(
        self, queue: str, order: tuple[Operation.Kind, str], limit: int
    ) -> None:
        now = NOON + minutes(self.minute)
        chosen = Chosen(queue=queue)
        try:
            with transaction.atomic():
                planned = operations.plan(
                    operator(), Order(*order), chosen, scope="", reason="x", now=now
                )
        except (NothingChosen, NotResubmittable):
            return
        if operations.start(planned.pk, limit=limit, now=now).ended_at is None:
            operations.cancel(planned.pk)

    @rule(newest=st.integers(0, 3))
    def an_operator_takes_it_back(self, newest: int) -> None:
        now = NOON + minutes(self.minute)
        ended = Operation.objects.filter(undoes=None).order_by("-pk")
        for operation in ended[newest : newest + 1]:
            try:
                undone = operations.plan_undo(operator(), operation.pk)
            except NotUndoable:
                return
            operations.start(undone.pk, now=now)

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "rollback"):
            assert fsck.violations() == []
            assert fsck.sums().balance == 0

    @invariant()
    def nothing_is_on_a_queue_twice(self) -> None:
        if hasattr(self, "rollback"):
            spots = list(Ready.objects.values_list("queue_id", "id"))
            assert len(spots) == len(set(spots))


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-7")
class TestOperationsMachine(OperationsMachine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
