"""What an operator does to many messages: exactly those, once, and on record."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from broker import journal, operations
from broker.errors import NotResubmittable, OperationNotPlanned
from broker.models import (
    DeadLetter,
    Kind,
    Message,
    Operation,
    OperationItem,
    Queue,
    Ready,
    RoutingType,
)
from broker.put import put, put_many
from broker.triage import Selection, groups
from broker.unit_of_work import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

ANYCAST, MULTICAST = RoutingType.ANYCAST, RoutingType.MULTICAST
State, Status = Operation.State, OperationItem.Status


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-1", "ADMIN-7")
def test_a_resubmit_brings_every_dead_letter_back_and_keeps_the_record() -> None:
    died = make_dead_letters(3)

    operation = start(plan(reason="the customer exists now"))

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
@pytest.mark.spec("ADMIN-1")
def test_what_is_resubmitted_starts_its_life_anew() -> None:
    make_dead_letters(1, attempts=3)
    start(plan())

    (delivery,) = UnitOfWork(now=NOON).get("orders")

    assert (delivery.backout_count, delivery.delivery_count) == (0, 1)
    assert delivery.body == b"1"
    assert "_BRK_DEATH_REASON" not in delivery.properties
    assert delivery.properties["_BRK_RESUBMIT_COUNT"] == 1


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

    operation = operations.plan_resubmit(operator(), "group", group.selection)

    assert [item.message_id for item in operation.items.order_by("id")] == wanted


@pytest.mark.django_db
def test_a_plan_may_be_of_one_message() -> None:
    _, second, _ = make_dead_letters(3)
    operation = operations.plan_resubmit(operator(), "one", message_id=second)
    assert [item.message_id for item in operation.items.all()] == [second]


@pytest.mark.django_db
def test_a_plan_of_nothing_is_refused_and_leaves_nothing() -> None:
    make_dead_letters(1)
    with pytest.raises(NotResubmittable):
        operations.plan_resubmit(operator(), "none", Selection(cause="EXPIRED"))
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
    assert (item.status, item.note) == (Status.SKIPPED, operations.NO_WAY_BACK)
    assert on("DLQ") == [stays]


@pytest.mark.django_db
def test_a_message_consumed_meanwhile_is_skipped_with_a_note() -> None:
    make_dead_letters(2)
    operation = plan()
    consumer = UnitOfWork(now=NOON)
    consumer.get("DLQ")

    operation = start(operation)

    consumed, done = operation.items.order_by("id")
    assert (consumed.status, consumed.note) == (Status.SKIPPED, operations.GONE)
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
def test_work_goes_on_where_the_last_step_ended() -> None:
    died = make_dead_letters(5)
    operation = start(plan(), limit=2)

    left = [on("DLQ")]
    while operations.step(operation.pk, limit=2):
        left.append(on("DLQ"))

    assert left == [died[2:], died[4:], []]
    operation.refresh_from_db()
    assert operation.state == State.DONE and operation.ended_at


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
    copies = operation.items.values_list("copy_id", flat=True)
    assert on("orders") == sorted(copies)
    assert Message.objects.filter(address="orders").count() == 6


def test_two_operations_of_one_operator_go_on_at_once(elsewhere: Elsewhere) -> None:
    one, other = make_dead_letters(2)
    ada = operator()
    first = operations.plan_resubmit(ada, "one", message_id=one)
    second = operations.plan_resubmit(ada, "other", message_id=other)
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
    assert [item.note for item in second.items.all()] == [operations.GONE]
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
@pytest.mark.spec("ADMIN-1")
def test_only_the_queue_it_died_on_gets_it_back() -> None:
    for name in ("invoices", "audit"):
        make_queue(name, address="events", routing_type=MULTICAST)
    make_dead_letters(1, address="events", queue="invoices")
    audited = on("audit")

    start(plan())

    (copy,) = on("invoices")
    assert on("audit") == audited
    assert Message.objects.get(pk=copy).address == "events"


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-1")
def test_the_original_routing_type_rules_who_gets_it_back() -> None:
    """The queue has the name of its address, so the copy goes to the address."""
    make_queue("orders", routing_type=ANYCAST)
    make_queue("audit", address="orders", routing_type=MULTICAST)
    make_dead_letters(1, routing_type=ANYCAST)

    start(plan())

    (copy,) = on("orders")
    assert on("audit") == []
    assert Message.objects.get(pk=copy).routing_type == ANYCAST


@pytest.mark.django_db
@pytest.mark.spec("COPY-2", "COPY-3")
def test_the_properties_of_a_resubmitted_copy_tell_of_the_dead_letter_queue() -> None:
    (died,) = make_dead_letters(1, properties={"customer": 17})
    first = Message.objects.get(pk=died).copied_from
    start(plan())

    (delivery,) = UnitOfWork(now=NOON).get("orders")

    assert delivery.properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "DLA",
        "_AMQ_ORIG_QUEUE": "DLQ",
        "_AMQ_ORIG_MESSAGE_ID": str(died),
        "_BRK_RESUBMIT_COUNT": 1,
    }
    story = journal.lifeline(delivery.message_id)
    assert story[0].message_id == first, "the first origin is never lost"


@pytest.mark.django_db
@pytest.mark.spec("COPY-2")
def test_a_second_death_tells_of_the_second_life() -> None:
    make_dead_letters(1)
    start(plan())
    (second_life,) = on("orders")
    die("orders", "the disk is full", at=5)

    letter = DeadLetter.objects.order_by("-message_id")[0]

    copy = Message.objects.get(pk=letter.message_id).properties
    assert copy["_AMQ_ORIG_MESSAGE_ID"] == str(second_life)
    assert copy["_AMQ_ORIG_ADDRESS"] == copy["_AMQ_ORIG_QUEUE"] == "orders"
    assert (letter.error, letter.resubmit_count) == ("the disk is full", 1)


@pytest.mark.django_db
def test_the_journal_says_who_resubmitted_under_which_operation() -> None:
    (died,) = make_dead_letters(1)
    operation = start(plan())

    (event,) = [e for e in journal.lifeline(died) if e.kind == Kind.RESUBMIT]

    assert (event.actor, event.detail["operation"]) == ("omar", operation.pk)
    assert event.queue_id == Queue.objects.get(name="DLQ").pk


@pytest.mark.django_db
def test_running_operations_are_those_with_work_left() -> None:
    make_dead_letters(4)
    planned, running, done = plan(), plan(), plan()
    start(running, limit=1)
    start(done)
    assert planned.state == State.PLANNED
    assert operations.running() == [running.pk]


def make_dead_letters(
    count: int,
    *,
    address: str = "orders",
    queue: str = "orders",
    attempts: int = 1,
    error: str = "no such customer 17",
    **fields: object,
) -> list[int]:
    """Messages that died on a queue; return the ids of their copies."""
    if not Queue.objects.filter(name="DLQ").exists():
        make_queue("DLQ", address="DLA")
        make_setting(address, max_delivery_attempts=attempts, dead_letter_address="DLA")
    if not Queue.objects.filter(name=queue).exists():
        make_queue(queue, address=address)
    before = set(on("DLQ"))
    put_many(make_messages(count, address, **fields), now=NOON)
    for _ in range(attempts):
        die(queue, error, limit=count)
    return [one for one in on("DLQ") if one not in before]


def die(queue: str, error: str, *, limit: int = 1, at: float = 0) -> None:
    work = UnitOfWork(now=NOON + minutes(at))
    assert work.get(queue, limit)
    work.back_out(error)


def operator() -> User:
    return User.objects.get_or_create(username="omar")[0]


def plan(reason: str = "") -> Operation:
    return operations.plan_resubmit(operator(), "all", reason=reason)


def start(operation: Operation, limit: int = 100) -> Operation:
    return operations.start(operation.pk, limit=limit)


def on(queue: str) -> list[int]:
    """The ready messages of a queue, by id."""
    ready = Ready.objects.filter(queue_id=Queue.objects.get(name=queue).pk)
    return sorted(ready.values_list("id", flat=True))
