"""Operations among consumers, other workers, and processes that die."""

from __future__ import annotations

import pytest

from broker import operations
from broker.models import Message, Operation, OperationItem
from broker.monitoring import fsck
from broker.operations import Chosen, Outcome
from broker.queueing import low_watermarks
from broker.queueing.put import put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.dying import make_dead_letters, on, operator, plan
from tests.broker.elsewhere import Elsewhere, kill, process, said
from tests.broker.ordering import (
    copies_of,
    make_map,
    make_orders,
    notes,
    order,
    undo,
)
from tests.make import NOON, make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

Do, State, Status = Operation.Kind, Operation.State, OperationItem.Status


def test_an_undo_leaves_what_a_consumer_is_just_taking(elsewhere: Elsewhere) -> None:
    make_map()
    taken, back = make_orders(2)
    operation = order(Do.MOVE, "review")
    elsewhere.begin()
    elsewhere(UnitOfWork(now=NOON).get, "review")

    undone = undo(operation)

    elsewhere.commit()
    assert notes(undone) == [Outcome.BUSY.sentence, Status.DONE]
    assert on("orders") == [back]
    assert taken not in on("orders")
    assert fsck.violations() == []


def test_of_two_steps_of_an_undo_one_does_nothing(elsewhere: Elsewhere) -> None:
    make_map()
    ids = make_orders(3)
    undone = operations.plan_undo(operator(), order(Do.MOVE, "review").pk)
    operations.start(undone.pk, limit=1, now=NOON)
    elsewhere.begin()
    assert elsewhere(operations.step, undone.pk, limit=1, now=NOON) == 1

    assert operations.step(undone.pk, limit=1, now=NOON) == 0

    elsewhere.commit()
    while operations.step(undone.pk, now=NOON):
        pass
    assert on("orders") == ids
    assert notes(undone) == [Status.DONE] * 3


def test_another_priority_is_seen_by_who_has_looked_beyond_it() -> None:
    """Its own number is below the floor of its new priority."""
    low_watermarks.FLOORS.forget()
    make_queue("orders")
    (early,) = [one.message_id for one in put_many(make_messages(1, priority=0))]
    *_, last = put_many(make_messages(3, priority=1))
    low_watermarks.FLOORS.of("orders")
    low_watermarks.FLOORS.settled = last.message_id
    with unit_of_work() as work:
        work.get("orders")
    assert low_watermarks.FLOORS.lanes["orders"][1] > early

    order(Do.PRIORITY, "1", Chosen(ids=(early,)))

    with unit_of_work() as work:
        (got,) = work.get("orders")
    assert got.message_id == early


STEPPING = """
from broker import operations
from broker.models import Operation
operation = Operation.objects.filter(state="running").get()
for _ in range({steps} + 9):  # and not to the end, however late it is killed
    print(operations.step(operation.pk, limit=50), flush=True)
sys.stdin.read()
"""


def work_and_die(steps: int) -> None:
    """A process steps, and is killed in the middle of what follows."""
    with process(STEPPING.format(steps=steps)) as other:
        for _ in range(steps):
            assert said(other)
        kill(other)


@pytest.mark.spec("ADMIN-7")
def test_an_operation_survives_the_process_that_works_on_it() -> None:
    count = 2000
    died = make_dead_letters(count)
    operation = operations.start(plan().pk, limit=50)

    work_and_die(steps=3)
    done = operation.items.filter(status=Status.DONE)
    assert 0 < done.count() < count, "it was killed in the middle"
    assert len(on("orders")) == done.count()
    assert fsck.violations() == []
    while operations.step(operation.pk):
        pass

    assert notes(operation) == [Status.DONE] * count
    assert on("orders") == sorted(copies_of(operation))
    assert on("DLQ") == []
    undone = operations.plan_undo(operator(), operation.pk)
    Operation.objects.filter(pk=undone.pk).update(reason="a test")
    operations.start(undone.pk, limit=50)
    work_and_die(steps=3)
    while operations.step(undone.pk):
        pass

    assert notes(undone) == [Status.DONE] * count
    assert (on("DLQ"), on("orders")) == (died, [])
    assert Message.objects.count() == 3 * count, "nothing was doubled"
    assert fsck.violations() == []
    assert fsck.sums().balance == 0
