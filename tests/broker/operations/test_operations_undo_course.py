"""When an operation can be undone, and how an undo goes on, ends, and begins again."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.utils import timezone

from broker import operations
from broker.errors.operations import NotUndoable
from broker.models import DeadLetter, Operation, OperationItem
from broker.operations import Chosen
from tests.broker.dying import back_out, make_dead_letters, on, operator, plan
from tests.broker.ordering import make_map, make_orders, notes, order, plan_of, undo
from tests.make import NOON, seconds

pytestmark = pytest.mark.django_db

Do, State, Status = Operation.Kind, Operation.State, OperationItem.Status


def test_an_undo_goes_on_where_its_last_step_ended() -> None:
    make_map()
    ids = make_orders(5)
    operation = order(Do.MOVE, "review")
    undone = operations.plan_undo(operator(), operation.pk)
    operations.start(undone.pk, limit=2, now=NOON)

    left = [len(on("review"))]
    while operations.step(undone.pk, limit=2, now=NOON):
        left.append(len(on("review")))

    assert left == [3, 1, 0]
    assert on("orders") == ids


def test_a_cancelled_undo_keeps_what_is_back_and_can_be_planned_again() -> None:
    make_map()
    ids = make_orders(3)
    operation = order(Do.MOVE, "review")
    undone = operations.plan_undo(operator(), operation.pk)
    operations.start(undone.pk, limit=1, now=NOON)
    operations.cancel(undone.pk)
    assert on("orders") == ids[:1]

    again = operations.plan_undo(operator(), operation.pk, reason="all of it")
    assert (again.pk, again.state, again.reason) == (
        undone.pk,
        State.PLANNED,
        "all of it",
    )
    operations.start(again.pk, now=NOON)

    assert on("orders") == ids
    assert notes(again) == [Status.DONE] * 3


def test_what_a_cancelled_operation_had_done_can_be_undone() -> None:
    make_map()
    ids = make_orders(3)
    planned = plan_of(Do.MOVE, "review")
    operations.start(planned.pk, limit=2, now=NOON)
    operations.cancel(planned.pk)

    undone = undo(planned)

    assert notes(undone) == [Status.DONE] * 2
    assert on("orders") == ids


def why(operation: Operation) -> str:
    with pytest.raises(NotUndoable) as refused:
        operations.plan_undo(operator(), operation.pk)
    return refused.value.why


def test_only_what_has_ended_and_did_something_can_be_undone_and_once() -> None:
    make_map()
    make_orders(3)
    assert why(plan_of(Do.REMOVE)) == "it has not ended"
    running = operations.start(plan_of(Do.MOVE, "review").pk, limit=1, now=NOON)
    assert why(running) == "it has not ended"
    idle = plan_of(Do.MOVE, "review")
    operations.cancel(idle.pk)
    assert why(idle) == "it did nothing"

    operations.cancel(running.pk)
    undone = undo(running)

    assert why(running) == "it was undone before, or is being undone"
    assert why(undone) == "it is an undo itself"
    assert operations.undo_until(undone) is None


def test_an_undo_has_its_time() -> None:
    make_map()
    make_orders(1)
    operation = order(Do.MOVE, "review")
    until = operations.undo_until(operation)
    assert until is not None
    assert operation.ended_at is not None
    window = seconds(settings.BROKER_UNDO_WINDOW_S)
    assert until == operation.ended_at + window

    Operation.objects.update(ended_at=timezone.now() - window)

    assert why(operation) == "the time for that is over"
    planned = plan_of(Do.REMOVE, chosen=Chosen(queue="review"))
    assert operations.undo_until(planned) is None


def test_an_undone_resubmit_that_dies_again_has_its_counts() -> None:
    make_dead_letters(1)
    undo(operations.start(plan().pk))
    operations.start(plan().pk)
    back_out(at=3)

    letter = DeadLetter.objects.order_by("-message_id")[0]
    assert letter.resubmit_count == 1
