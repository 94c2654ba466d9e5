"""What became of the copies: each is noted once, and counted once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from broker import operations
from broker.models import (
    Experience,
    Operation,
    OperationItem,
    OperationSchedule,
    RoutingType,
)
from broker.operations import Chosen, copy_outcomes
from broker.settlement import expiry
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, plan, start
from tests.broker.elsewhere import Elsewhere
from tests.broker.going_on import process
from tests.broker.ordering import make_orders, order, undo
from tests.make import NOON, make_queue, minutes

Do, Outcome = Operation.Kind, OperationItem.Outcome
in_a_transaction = pytest.mark.django_db


def outcomes_of(operation: Operation) -> Counter[int | None]:
    return Counter(operation.items.values_list("outcome", flat=True))


def settled(operation: Operation) -> bool:
    return OperationSchedule.objects.get(pk=operation.pk).settled_at is not None


@in_a_transaction
def test_what_became_of_each_is_noted() -> None:
    make_dead_letters(7)
    operation = start(plan())
    process(2)
    back_out()
    back_out(error="the disk is full")
    held = UnitOfWork(now=NOON)
    held.get("orders")

    assert operations.settle(operation.pk) == 4
    assert operations.settle(operation.pk) == 0

    assert outcomes_of(operation) == {Outcome.PROCESSED: 2, Outcome.DEAD: 2, None: 3}
    died = operation.items.filter(outcome=Outcome.DEAD).values_list(
        "died_of", flat=True
    )
    assert len(set(died)) == 2
    assert not settled(operation)

    held.commit()
    process()
    assert operations.settle(operation.pk) == 3
    assert settled(operation)
    assert operations.unsettled() == []


@in_a_transaction
def test_a_look_changes_nothing_and_tells_who_had_them() -> None:
    make_dead_letters(4)
    operation = start(plan())
    held = UnitOfWork(now=NOON)
    held.get("orders")
    process(1)

    seen = copy_outcomes.look(copy_outcomes.open_items(operation.pk))

    assert (len(seen.untouched), len(seen.under_way), len(seen.ends)) == (2, 1, 1)
    assert outcomes_of(operation) == {None: 4}


@in_a_transaction
def test_what_was_taken_back_or_expired_is_no_success() -> None:
    make_queue("orders")
    make_queue("review")
    make_orders(2, expires_at=NOON + minutes(5))
    expiring = order(Do.MOVE, "review")
    expiry.expire(limit=10, now=NOON + minutes(6))
    operations.settle(expiring.pk)
    make_orders(2)
    moved = order(Do.MOVE, "review", Chosen(queue="orders"))
    undo(moved)
    operations.settle(moved.pk)

    assert outcomes_of(moved) == {Outcome.TAKEN: 2}
    assert set(outcomes_of(expiring)) <= {Outcome.EXPIRED, None}


@in_a_transaction
def test_a_copy_on_several_queues_ends_with_the_last_and_the_worst_end_counts() -> None:
    make_queue("orders", routing_type=RoutingType.MULTICAST)
    make_dead_letters(1)
    make_queue("audit", address="orders", routing_type=RoutingType.MULTICAST)
    operation = start(plan())
    process_on("audit")
    assert operations.settle(operation.pk) == 0

    back_out()

    assert operations.settle(operation.pk) == 1
    assert outcomes_of(operation) == {Outcome.DEAD: 1}


def process_on(queue: str) -> None:
    work = UnitOfWork(now=NOON)
    work.get(queue, 100)
    work.commit()


@in_a_transaction
def test_each_look_goes_on_where_the_last_one_ended() -> None:
    make_dead_letters(5)
    operation = start(plan())
    process(5)

    looks = [operations.settle(operation.pk, limit=2) for _ in range(4)]

    assert looks == [2, 2, 1, 0]
    assert settled(operation)


@in_a_transaction
def test_what_stands_still_is_looked_at_less_and_less() -> None:
    make_dead_letters(1)
    operation = start(plan())
    now = timezone.now()
    waits = []
    for _ in range(9):
        assert operations.settle(operation.pk, now=now) == 0
        look_at = OperationSchedule.objects.get().look_at
        assert look_at is not None
        waits.append((look_at - now).total_seconds())
        now = look_at

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert operations.unsettled(now - timedelta(seconds=1)) == []
    assert operations.unsettled(now) == [operation.pk]


@in_a_transaction
def test_after_a_day_nothing_is_looked_at_any_more() -> None:
    make_dead_letters(1)
    operation = start(plan())

    operations.settle(operation.pk, now=timezone.now() + copy_outcomes.GIVEN_UP)

    assert settled(operation)
    assert outcomes_of(operation) == {None: 1}


@in_a_transaction
@pytest.mark.parametrize("kind", [Do.REMOVE, Do.PRIORITY])
def test_what_nobody_follows_is_settled_at_once(kind: Operation.Kind) -> None:
    make_orders(2)
    operation = order(kind, "9" if kind == Do.PRIORITY else "")
    operations.settle(operation.pk)
    assert settled(operation)


@in_a_transaction
def test_what_came_of_resubmitting_is_remembered_by_cause() -> None:
    make_dead_letters(3)
    make_dead_letters(1, error="the disk is full")
    operation = start(plan())
    process(2)
    back_out(error="something else")
    operations.settle(operation.pk)
    process(1)
    operations.settle(operation.pk)
    operations.settle(operation.pk)

    known = Experience.objects.order_by("-processed")
    assert [(one.processed, one.died) for one in known] == [(2, 1), (1, 0)]


@in_a_transaction
def test_a_move_is_no_experience_with_resubmitting() -> None:
    make_dead_letters(1)
    operation = order(Do.MOVE, "orders", Chosen(queue="DLQ"))
    process(1)
    operations.settle(operation.pk)

    assert outcomes_of(operation) == {Outcome.PROCESSED: 1}
    assert not Experience.objects.exists()


def test_of_two_that_look_at_once_one_counts(elsewhere: Elsewhere) -> None:
    make_dead_letters(3)
    operation = start(plan())
    process(3)
    elsewhere.begin()
    assert elsewhere(operations.settle, operation.pk) == 3

    assert operations.settle(operation.pk) == 0

    elsewhere.commit()
    assert operations.settle(operation.pk) == 0
    assert Experience.objects.get().processed == 3
