"""Whatever dies in whatever stage of an operation, nothing is lost, doubled or tried
beyond what may be."""

from __future__ import annotations

from itertools import count

import pytest

from broker import operations
from broker.models import (
    Experience,
    Message,
    Operation,
    OperationItem,
    OperationSchedule,
)
from broker.monitoring import fsck
from broker.operations import canary
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import make_dead_letters, on, operator, plan
from tests.broker.elsewhere import kill, process, said

pytestmark = pytest.mark.usefixtures("transactional_db")

State, Status, Stage = Operation.State, OperationItem.Status, OperationSchedule.Stage
MESSAGES, CANARY = 130, 9

WORKING = """
from broker import operations
from broker.models import Operation
(operation,) = Operation.objects.all()
for _ in range({turns} + 1):  # and no further, however late it is killed
    worked = operations.step(operation.pk, limit=4)
    settled = operations.settle(operation.pk, limit=4)
    print(worked, settled, flush=True)
sys.stdin.read()
"""


def consume() -> int:
    """A consumer processes all that it finds; how many."""
    work = UnitOfWork()
    got = work.get("orders", 1000)
    work.commit()
    return len(got)


def work_and_die(turns: int) -> None:
    """A worker goes on for some turns, and is killed in the middle of what follows."""
    with process(WORKING.format(turns=turns)) as worker:
        for _ in range(turns):
            assert said(worker)
        kill(worker)


@pytest.mark.thorough
@pytest.mark.spec("ADMIN-7")
def test_a_tried_operation_survives_whoever_works_on_it() -> None:
    make_dead_letters(MESSAGES)
    operation = plan()
    operations.arrange(operation.pk, pace=None, canary=CANARY)
    operations.start(operation.pk, limit=2)
    stages, consumed = set(), 0

    for turns in count(1):
        work_and_die(turns)
        schedule = OperationSchedule.objects.get()
        stages.add(schedule.stage)
        done = operation.items.filter(status=Status.DONE).count()
        assert done <= allowed(schedule)
        assert len(on("orders")) + consumed == done
        assert fsck.violations() == []
        if schedule.stage in (Stage.WATCH, Stage.REST) or turns % 2:
            consumed += consume()
        if schedule.settled_at:
            break
        assert turns < 20

    assert {Stage.TRIAL, Stage.WATCH} <= stages
    operation.refresh_from_db()
    assert operation.state == State.DONE
    copies = operation.items.values_list("copy_id", flat=True)
    assert len(set(copies)) == MESSAGES == consumed
    assert set(operation.items.values_list("outcome", flat=True)) == {1}
    assert Message.objects.count() == 3 * MESSAGES, "nothing was doubled"
    assert Experience.objects.get().processed == MESSAGES, "each was counted once"
    assert fsck.sums().balance == 0


def allowed(schedule: OperationSchedule) -> int:
    """How many may have been sent at most, where an operation stands."""
    if schedule.stage == Stage.REST:
        return MESSAGES
    sent, part = 0, CANARY
    while part and sent < schedule.tried:
        sent += part
        part = canary.next_part(part, sent)
    return sent + (
        schedule.part - schedule.to_send if schedule.stage == Stage.TRIAL else 0
    )


def test_a_halt_outlives_whoever_found_it() -> None:
    make_dead_letters(MESSAGES)
    operation = plan()
    operations.arrange(operation.pk, pace=None, canary=CANARY)
    operations.start(operation.pk, limit=CANARY)
    work = UnitOfWork()
    work.get("orders", 3)
    work.back_out(BackOut("no such customer 17", spread=0))

    work_and_die(turns=3)

    schedule = OperationSchedule.objects.get()
    assert schedule.stage == Stage.HALTED
    assert operations.step(operation.pk) == 0
    assert len(on("orders")) == CANARY - 3
    operations.cancel(operation.pk)
    undone = operations.plan_undo(operator(), operation.pk)
    operations.start(undone.pk)
    assert on("orders") == []
    assert len(on("DLQ")) == MESSAGES
    assert fsck.violations() == []
