"""Operations with a pace: what goes when; and those that are paused."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import OperationNotPlanned
from broker.models import Operation
from tests.broker.dying import make_dead_letters, on, operator, plan
from tests.broker.going_on import START, begun, step

pytestmark = pytest.mark.django_db

State = Operation.State


def test_a_pace_is_kept_from_step_to_step() -> None:
    make_dead_letters(30)
    operation = begun(pace=10)

    sent = [len(on("orders"))]
    for after in (0, 0.5, 1, 1, 10, 11):
        step(operation, after)
        sent.append(len(on("orders")))

    assert sent == [10, 10, 15, 20, 20, 30, 30]
    operation.refresh_from_db()
    assert operation.state == State.DONE


def test_a_pace_is_changed_while_it_runs_and_taken_away() -> None:
    make_dead_letters(30)
    operation = begun(pace=1)

    operations.set_pace(operation.pk, 10)
    assert step(operation, 1) == 10
    operations.set_pace(operation.pk, None)
    assert step(operation, 1) == 19

    with pytest.raises(OperationNotPlanned):
        operations.set_pace(operation.pk, 5)


def test_what_is_paused_rests_until_somebody_carries_on() -> None:
    make_dead_letters(300)
    operation = begun()
    operations.pause(operation.pk)

    assert step(operation) == 0
    assert operations.running() == []
    assert len(on("orders")) == 100

    operations.carry_on(operation.pk)
    assert operations.running() == [operation.pk]
    assert step(operation) == 200


def test_only_what_runs_can_be_paused_or_carried_on() -> None:
    make_dead_letters(1)
    planned = plan()
    for change in (operations.pause, operations.carry_on):
        with pytest.raises(OperationNotPlanned):
            change(planned.pk)
    operations.start(planned.pk)
    for change in (operations.pause, operations.carry_on):
        with pytest.raises(OperationNotPlanned):
            change(planned.pk)
    with pytest.raises(OperationNotPlanned):
        operations.arrange(planned.pk, pace=None, canary=0)


def test_what_was_paused_can_be_cancelled() -> None:
    make_dead_letters(300)
    operation = begun()
    operations.pause(operation.pk)

    operations.cancel(operation.pk)

    assert len(on("orders")) == 100
    assert step(operation) == 0


def test_an_undo_that_was_paused_and_cancelled_goes_on_when_it_is_started_anew() -> (
    None
):
    died = make_dead_letters(150)
    operation = begun()
    step(operation)
    undone = operations.plan_undo(operator(), operation.pk)
    Operation.objects.filter(pk=undone.pk).update(reason="a test")
    operations.start(undone.pk, now=START)
    operations.pause(undone.pk)
    operations.cancel(undone.pk)

    again = operations.plan_undo(operator(), operation.pk)
    Operation.objects.filter(pk=again.pk).update(reason="a test")
    operations.start(again.pk, now=START)

    assert again.pk == undone.pk
    assert on("DLQ") == died
