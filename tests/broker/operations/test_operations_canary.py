"""Operations that try a few first: what goes when, what stops them, who carries on.

Dead letters of "orders" are resubmitted; consumers take what is tried, or do not.
"""

from __future__ import annotations

import json

import pytest
from django.conf import settings

from broker import operations
from broker.models import (
    AddressSetting,
    DeadLetter,
    Experience,
    Operation,
    OperationItem,
    OperationSchedule,
    Queue,
)
from broker.operations import Chosen
from broker.operations.canary import StopReason
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on, plan
from tests.broker.going_on import START, begun, halt_of, process, schedule_of, step
from tests.broker.ordering import make_orders, order, plan_of
from tests.make import make_queue, seconds

pytestmark = pytest.mark.django_db

Do, State, Status = Operation.Kind, Operation.State, OperationItem.Status
Stage = OperationSchedule.Stage


def test_a_canary_goes_alone_and_is_waited_for() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)

    assert len(on("orders")) == 10
    assert step(operation) == 0
    assert step(operation, 60) == 0
    assert schedule_of(operation).stage == Stage.WATCH
    assert len(on("orders")) == 10


def test_what_went_well_goes_on_in_larger_parts_and_then_whole() -> None:
    make_dead_letters(1000)
    operation = begun(canary=10)

    parts = [len(on("orders"))]
    for _ in range(4):
        process(1000)
        while step(operation):
            pass
        parts.append(len(on("orders")))

    assert parts == [10, 30, 90, 270, 600]
    operation.refresh_from_db()
    assert operation.state == State.DONE
    assert operation.items.filter(status=Status.DONE).count() == 1000


def test_a_canary_of_all_ends_with_them() -> None:
    make_dead_letters(5)
    operation = begun(canary=10)
    assert len(on("orders")) == 5
    assert operation.state == State.RUNNING

    process()
    step(operation)

    operation.refresh_from_db()
    assert operation.state == State.DONE


def test_it_stops_when_they_die_again_of_the_same() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    back_out(limit=2, error="no such customer 4")
    assert step(operation) == 0
    assert schedule_of(operation).stage == Stage.WATCH

    back_out(error="no such customer 5")
    assert step(operation) == 0

    halt = halt_of(operation)
    assert (halt.why, halt.messages, halt.tried) == (StopReason.AGAIN, 3, 10)
    assert halt.pattern == "no such customer {n}"
    assert operations.running() == []
    assert len(on("DLQ")) == 93, "the rest is untouched"


def test_it_stops_at_the_first_that_dies_of_something_new() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    back_out(error="the disk is full")

    step(operation)

    halt = halt_of(operation)
    assert (halt.why, halt.messages, halt.pattern) == (
        StopReason.NEW,
        1,
        "the disk is full",
    )


def test_it_stops_when_the_ramp_dies() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    process()
    assert step(operation) == 30
    back_out(limit=3)

    step(operation)

    halt = halt_of(operation)
    assert (halt.why, halt.messages, halt.tried) == (StopReason.AGAIN, 3, 40)
    assert len(on("DLQ")) == 63


def test_what_dies_and_is_dropped_has_died() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    from_now_on_nothing_is_kept()
    back_out(limit=3)

    step(operation)

    assert halt_of(operation).why is StopReason.AGAIN
    assert not DeadLetter.objects.filter(resubmit_count=1).exists()


def from_now_on_nothing_is_kept() -> None:
    AddressSetting.objects.update(dead_letter_address="")


def test_it_stops_when_no_consumer_takes_them_and_waits_anew() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    patience = settings.BROKER_CANARY_PATIENCE_S
    step(operation, patience)

    halt = halt_of(operation)
    assert (halt.why, halt.messages) == (StopReason.UNTAKEN, 10)

    operations.carry_on(operation.pk, now=START + seconds(patience))
    assert step(operation, patience + 1) == 0
    assert schedule_of(operation).stage == Stage.WATCH
    process()
    assert step(operation, patience + 2) == 30


def test_what_a_consumer_has_is_waited_for_without_end() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    work = UnitOfWork(now=START)
    work.get("orders", 1)

    assert step(operation, 10 * settings.BROKER_CANARY_PATIENCE_S) == 0
    assert schedule_of(operation).stage == Stage.WATCH


def test_who_carries_on_after_a_stop_goes_to_the_next_part() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    back_out(limit=3)
    step(operation)

    operations.carry_on(operation.pk, now=START)

    assert step(operation) == 30
    process(35)
    back_out(limit=2)
    assert step(operation) == 60, "two of 37 are not too many"


def test_what_died_before_carrying_on_is_not_held_against_it() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    back_out(error="the disk is full")
    step(operation)
    operations.carry_on(operation.pk, now=START)
    step(operation)
    process(100)

    assert step(operation) == 60
    assert schedule_of(operation).halt is None


def test_all_the_rest_may_go_at_once() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)

    operations.carry_on(operation.pk, at_once=True, now=START)

    assert step(operation) == 90
    operation.refresh_from_db()
    assert operation.state == State.DONE


def test_what_was_stopped_can_be_undone() -> None:
    died = make_dead_letters(100)
    operation = begun(canary=10)
    back_out(limit=3)
    step(operation)

    operations.cancel(operation.pk)
    undone = operations.plan_undo(operation.created_by, operation.pk)
    operations.start(undone.pk, now=START)

    assert on("DLQ") == died, "those that died again, too"
    assert on("orders") == []


def test_a_canary_goes_at_the_pace_too() -> None:
    make_dead_letters(100)
    operation = begun(canary=10, pace=4)

    sent = [len(on("orders"))]
    for after in (1, 2, 3, 4):
        step(operation, after)
        sent.append(len(on("orders")))

    assert sent == [4, 8, 10, 10, 10]


def test_a_canary_has_the_oldest_the_newest_and_one_of_each_cause() -> None:
    common = make_dead_letters(40)
    (rare,) = make_dead_letters(1, error="the disk is full")
    more = make_dead_letters(40)
    planned = plan()
    operations.arrange(planned.pk, pace=None, canary=3)

    operations.start(planned.pk, now=START)

    done = planned.items.filter(status=Status.DONE)
    assert {item.message_id for item in done} == {common[0], rare, more[-1]}


def test_a_canary_has_one_of_each_shape() -> None:
    make_dead_letters(40)
    (odd,) = make_dead_letters(1, content_type="application/json")
    (kind,) = make_dead_letters(1, subject="refund")
    make_dead_letters(40)
    planned = plan()
    # Both ends, the first of the error, and one of each shape: bodies have two sizes.
    operations.arrange(planned.pk, pace=None, canary=7)

    operations.start(planned.pk, now=START)

    done = planned.items.filter(status=Status.DONE)
    assert {odd, kind} <= {item.message_id for item in done}


def test_a_canary_that_is_skipped_is_not_waited_for() -> None:
    make_dead_letters(100)
    first, second = plan(), plan()
    operations.start(first.pk, now=START)
    operations.arrange(second.pk, pace=None, canary=10)
    operations.start(second.pk, now=START)
    while operations.step(second.pk, now=START):
        pass

    second.refresh_from_db()
    assert second.state == State.DONE
    assert second.items.filter(status=Status.SKIPPED).count() == 100


def test_a_move_is_tried_first_where_it_has_consumers() -> None:
    make_orders(101)
    make_queue("review")
    moved = plan_of(Do.MOVE, "review")
    assert operations.usual_canary(moved) == 0
    order(Do.MOVE, "review", Chosen(queue="orders"))
    work = UnitOfWork(now=START)
    work.get("review")
    work.back_out(BackOut("not now", spread=0))

    back = plan_of(Do.MOVE, "orders", Chosen(queue="review"))
    assert operations.usual_canary(back) == 0, "nobody ever took from orders"
    assert operations.usual_canary(moved) == 10


def test_a_few_of_one_cause_are_tried_first_until_enough_were_processed() -> None:
    make_dead_letters(12)
    first = plan()
    assert operations.usual_canary(first) == 2
    operations.start(first.pk, now=START)
    back_out(limit=12)

    again = plan()
    assert operations.usual_canary(again) == 2
    cause = DeadLetter.objects.values_list("fingerprint", flat=True)[0]
    Experience.objects.update_or_create(
        fingerprint=cause,
        defaults={"processed": 10, "died": 0, "since": START, "last_at": START},
    )
    assert operations.usual_canary(again) == 0
    patch = {"headers": [{"op": "set", "name": "h.a", "value": 1}]}
    operations.set_patch(again.pk, json.dumps(patch))
    assert operations.usual_canary(again) == 2, "nobody has tried the patch"


def test_what_nobody_follows_has_no_canary() -> None:
    make_orders(3)
    removed = plan_of(Do.REMOVE)
    schedule = operations.arrange(removed.pk, pace=5, canary=10)
    assert (schedule.canaries, schedule.pace) == (0, 5)


def test_a_queue_that_is_deleted_meanwhile_stops_nothing() -> None:
    make_dead_letters(100)
    operation = begun(canary=10)
    process()
    Queue.objects.filter(name="orders").delete()

    while step(operation):
        pass

    operation.refresh_from_db()
    assert operation.state == State.DONE
    assert operation.items.filter(status=Status.SKIPPED).count() == 90
