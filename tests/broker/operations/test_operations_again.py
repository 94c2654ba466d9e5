"""From an operation that stopped itself to its undo, and from there to a new plan."""

from __future__ import annotations

import json

import pytest

from broker import operations
from broker.errors.operations import NothingChosen, NotUndoable, NotUndone
from broker.errors.patches import NotPatchable
from broker.models import Act, AuditRecord, Operation, OperationItem, Queue, Ready
from tests.broker.dying import back_out, make_dead_letters, on, operator, plan
from tests.broker.going_on import START, begun, halt_of, step
from tests.broker.ordering import make_map, make_orders, notes, order, undo
from tests.make import make_user, seconds

pytestmark = pytest.mark.django_db

State, Status = Operation.State, OperationItem.Status


def halted(letters: int = 5, canary: int = 2) -> Operation:
    """It has sent its canary, which died again."""
    make_dead_letters(letters)
    operation = begun(canary=canary)
    back_out(at=11, limit=canary)
    step(operation, after=90)
    assert halt_of(operation).messages == canary
    return operation


def taken_back(operation: Operation) -> Operation:
    planned = operations.stop_and_plan_undo(operator(), operation.pk)
    return operations.start(planned.pk, now=START + seconds(120))


def acts_on(operation: Operation) -> list[str]:
    records = AuditRecord.objects.filter(operation_id=operation.pk).order_by("pk")
    return list(records.values_list("act", flat=True))


def test_the_undo_of_what_stopped_itself_ends_it() -> None:
    operation = halted()

    planned = operations.stop_and_plan_undo(operator(), operation.pk)

    operation.refresh_from_db()
    assert (operation.state, planned.state) == (State.CANCELLED, State.PLANNED)
    assert planned.items.count() == 2
    assert acts_on(operation) == [Act.PLAN, Act.START, Act.CANCEL]
    assert acts_on(planned) == [Act.UNDO]
    assert operations.step(operation.pk, now=START + seconds(200)) == 0


def test_what_still_runs_has_to_be_stopped_first() -> None:
    make_dead_letters(5)
    operation = begun(canary=2)

    with pytest.raises(NotUndoable):
        operations.stop_and_plan_undo(operator(), operation.pk)

    operation.refresh_from_db()
    assert operation.state == State.RUNNING


def test_all_that_is_back_or_was_never_sent_is_planned_again() -> None:
    operation = halted()
    before = set(operation.items.values_list("queue_id", "message_id", "target"))
    Operation.objects.update(reason="they are mended")
    operations.stop_and_plan_undo(operator(), operation.pk)
    with pytest.raises(NotUndone):
        operations.plan_again(operator(), operation.pk)
    taken_back_by = Operation.objects.get(undoes=operation)
    operations.start(taken_back_by.pk, now=START + seconds(120))
    assert notes(taken_back_by) == [Status.DONE] * 2
    ada = make_user("ada")

    again = operations.plan_again(ada, operation.pk)

    assert set(again.items.values_list("queue_id", "message_id", "target")) == before
    assert notes(again) == [Status.PLANNED] * 5
    assert (again.created_by, again.reason) == (ada, "they are mended")
    assert not operations.waiting()
    (record,) = AuditRecord.objects.filter(operation_id=again.pk)
    assert (record.act, record.details["again"]) == (Act.PLAN, operation.pk)
    operations.start(again.pk, now=START + seconds(180))
    assert len(on("orders")) == 5
    assert on("DLQ") == []


def test_what_is_gone_is_not_planned_again_and_what_was_left_out_stays_so() -> None:
    operation = halted()
    taken_back(operation)
    first, second, *others = on("DLQ")
    dead = Queue.objects.get(name="DLQ").pk
    Ready.objects.filter(queue_id=dead, id=first).delete()
    left_out = operation.items.filter(message_id=second)
    left_out.update(status=Status.LEFT_OUT)

    again = operations.plan_again(operator(), operation.pk)

    assert notes(again) == [Status.LEFT_OUT] + [Status.PLANNED] * 3
    assert [item.message_id for item in again.items.order_by("pk")] == [second, *others]
    Ready.objects.filter(queue_id=dead).delete()
    with pytest.raises(NothingChosen):
        operations.plan_again(operator(), operation.pk)


def test_what_the_old_patch_did_not_fit_is_planned_again() -> None:
    make_dead_letters(2, subject="a")
    make_dead_letters(1, subject="b")
    planned = plan()
    guard = {"op": "test", "name": "subject", "value": "a"}
    change = guard | {"op": "set", "value": "c"}
    operations.set_patch(planned.pk, json.dumps({"headers": [guard, change]}))
    operations.look(planned.pk)
    operations.start(planned.pk, now=START)
    undo(Operation.objects.get(pk=planned.pk), at=12)

    again = operations.plan_again(operator(), planned.pk)

    assert notes(again) == [Status.PLANNED] * 3


def test_a_queue_that_asks_for_a_second_person_asks_again() -> None:
    operation = halted()
    taken_back(operation)
    Queue.objects.filter(name="DLQ").update(approval_above=2)

    again = operations.plan_again(operator(), operation.pk)

    assert again.approval.seal
    assert again.approval.approved_at is None


def test_only_what_was_undone_and_sends_something_is_planned_again() -> None:
    make_map()
    make_orders(1)
    moved = order(Operation.Kind.MOVE, "review")
    with pytest.raises(NotUndone):
        operations.plan_again(operator(), moved.pk)
    undo(moved)
    removed = order(Operation.Kind.REMOVE)
    undo(removed)

    with pytest.raises(NotPatchable):
        operations.plan_again(operator(), removed.pk)

    assert operations.plan_again(operator(), moved.pk).items.count() == 1
