"""What an operator does to many messages: exactly those, once, and on record."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import NotResubmittable, OperationNotPlanned
from broker.models import Message, Operation, OperationItem, Queue
from broker.monitoring.dead_letters import Selection, groups
from broker.operations import Outcome
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import make_dead_letters, on, operator, plan, start
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, plan_resubmit

State, Status = Operation.State, OperationItem.Status


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-1", "ADMIN-7")
def test_a_resubmit_brings_every_dead_letter_back_and_keeps_the_record() -> None:
    died = make_dead_letters(3)
    operation = plan(reason="the customer exists now")
    assert (operation.state, operation.items.count()) == (State.PLANNED, 3)

    operation = start(operation)

    assert operation.state == State.DONE
    assert (operation.created_by.username, operation.reason) == (
        "omar",
        "the customer exists now",
    )
    items = operation.items.order_by("id")
    assert [item.message_id for item in items] == died
    assert {item.status for item in items} == {Status.DONE}
    assert on("orders") == [item.copy_id for item in items]
    assert on("DLQ") == []


@pytest.mark.django_db
def test_a_plan_is_frozen() -> None:
    died = make_dead_letters(2)
    operation = plan()
    later = make_dead_letters(2)

    start(operation)

    assert [item.message_id for item in operation.items.order_by("id")] == died
    assert on("DLQ") == later


@pytest.mark.django_db
def test_a_plan_has_what_was_selected_and_nothing_else() -> None:
    wanted = make_dead_letters(2, error="no such customer 17")
    make_dead_letters(1, error="the disk is full")
    (group,) = [one for one in groups() if one.messages == 2]

    operation = plan_resubmit(operator(), "group", group.selection)

    assert [item.message_id for item in operation.items.order_by("id")] == wanted


@pytest.mark.django_db
def test_a_plan_may_be_of_one_message() -> None:
    _, second, _ = make_dead_letters(3)
    operation = plan_resubmit(operator(), "one", message_id=second)
    assert [item.message_id for item in operation.items.all()] == [second]


@pytest.mark.django_db
def test_a_plan_of_nothing_is_refused_and_leaves_nothing() -> None:
    make_dead_letters(1)
    with pytest.raises(NotResubmittable):
        plan_resubmit(operator(), "none", Selection(cause="EXPIRED"))
    assert not Operation.objects.exists()


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-1")
def test_a_dead_letter_whose_queue_is_gone_is_not_planned() -> None:
    (stays,) = make_dead_letters(1)
    Queue.objects.filter(name="orders").delete()

    with pytest.raises(NotResubmittable):
        plan()

    assert on("DLQ") == [stays]


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-1")
def test_a_queue_that_goes_after_the_plan_leaves_its_dead_letters_where_they_are() -> (
    None
):
    (stays,) = make_dead_letters(1)
    operation = plan()
    Queue.objects.filter(name="orders").delete()

    start(operation)

    item = operation.items.get()
    assert (item.status, item.note) == (Status.SKIPPED, Outcome.NO_WAY_BACK.sentence)
    assert on("DLQ") == [stays]


@pytest.mark.django_db
def test_a_message_consumed_meanwhile_is_skipped_with_a_note() -> None:
    make_dead_letters(2)
    operation = plan()
    consumer = UnitOfWork(now=NOON)
    consumer.get("DLQ")

    operation = start(operation)

    consumed, done = operation.items.order_by("id")
    assert (consumed.status, consumed.note) == (Status.SKIPPED, Outcome.HELD.sentence)
    assert consumed.copy_id is None
    assert (done.status, done.note) == (Status.DONE, "")
    assert operation.state == State.DONE
    consumer.commit()


def test_a_message_that_a_consumer_is_just_taking_is_skipped(
    elsewhere: Elsewhere,
) -> None:
    make_dead_letters(2)
    operation = plan()
    elsewhere.begin()
    (taken,) = elsewhere(UnitOfWork(now=NOON).get, "DLQ")

    start(operation)

    skipped = operation.items.get(status=Status.SKIPPED)
    assert skipped.message_id == taken.message_id
    elsewhere.commit()


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-7")
def test_work_goes_on_where_the_last_step_ended() -> None:
    died = make_dead_letters(5)
    operation = start(plan(), limit=2)

    left = [on("DLQ")]
    while operations.step(operation.pk, limit=2):
        left.append(on("DLQ"))

    assert left == [died[2:], died[4:], []]
    operation.refresh_from_db()
    assert operation.state == State.DONE
    assert operation.ended_at is not None


@pytest.mark.django_db
def test_a_step_after_the_end_does_nothing() -> None:
    make_dead_letters(1)
    operation = start(plan())
    before = on("orders")

    assert operations.step(operation.pk) == 0
    with pytest.raises(OperationNotPlanned):
        operations.start(operation.pk)

    assert on("orders") == before


@pytest.mark.django_db
def test_a_step_before_the_start_does_nothing() -> None:
    died = make_dead_letters(1)
    assert operations.step(plan().pk) == 0
    assert on("DLQ") == died


def test_of_two_steps_at_once_one_does_nothing(elsewhere: Elsewhere) -> None:
    make_dead_letters(3)
    operation = start(plan(), limit=1)
    elsewhere.begin()
    assert elsewhere(operations.step, operation.pk, limit=1) == 1

    assert operations.step(operation.pk, limit=1) == 0

    elsewhere.commit()
    assert operations.step(operation.pk) == 1
    copies = {item.copy_id for item in operation.items.all()}
    assert set(on("orders")) == copies
    assert Message.objects.filter(address="orders").count() == 6


def test_two_operations_of_one_operator_go_on_at_once(elsewhere: Elsewhere) -> None:
    one, other = make_dead_letters(2)
    ada = operator()
    first = plan_resubmit(ada, "one", message_id=one)
    second = plan_resubmit(ada, "other", message_id=other)
    Operation.objects.update(state=State.RUNNING)
    elsewhere.begin()
    elsewhere(operations.step, first.pk)

    assert operations.step(second.pk) == 1

    elsewhere.commit()


def test_two_operations_on_one_message_move_it_once(elsewhere: Elsewhere) -> None:
    make_dead_letters(1)
    first, second = plan(), plan()
    Operation.objects.update(state=State.RUNNING)
    elsewhere.begin()
    elsewhere(operations.step, first.pk)
    operations.step(second.pk)
    elsewhere.commit()

    assert [item.status for item in first.items.all()] == [Status.DONE]
    assert [item.note for item in second.items.all()] == [Outcome.BUSY.sentence]
    assert len(on("orders")) == 1


@pytest.mark.django_db
def test_a_cancelled_plan_touches_nothing() -> None:
    died = make_dead_letters(2)
    operation = plan()

    operations.cancel(operation.pk)

    with pytest.raises(OperationNotPlanned):
        operations.start(operation.pk)
    assert operations.step(operation.pk) == 0
    assert on("DLQ") == died


@pytest.mark.django_db
def test_a_cancelled_run_keeps_what_is_done_and_leaves_the_rest() -> None:
    died = make_dead_letters(3)
    operation = start(plan(), limit=1)

    operations.cancel(operation.pk)

    assert operations.step(operation.pk) == 0
    assert len(on("orders")) == 1
    assert on("DLQ") == died[1:]
    with pytest.raises(OperationNotPlanned):
        operations.cancel(operation.pk)


@pytest.mark.django_db
def test_running_operations_are_those_with_work_left() -> None:
    make_dead_letters(4)
    planned, running, done = plan(), plan(), plan()
    start(running, limit=1)
    start(done)
    assert planned.state == State.PLANNED
    assert operations.running() == [running.pk]
