"""Delayed messages are given another time at which they are due."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker.errors.operations import InvalidDueTime
from broker.models import Delayed, Event, Kind, Operation, OperationItem, Place
from broker.monitoring import fsck
from broker.operations import Outcome
from broker.transactions.scope import UnitOfWork
from tests.broker.ordering import delayed_on, make_orders, notes, order, undo
from tests.make import NOON, minutes

pytestmark = pytest.mark.django_db

Do, Status = Operation.Kind, OperationItem.Status


@pytest.mark.spec("ADMIN-4", "REDEL-6")
def test_what_is_delayed_is_given_another_time() -> None:
    first, waits = make_orders(1, delayed=1)
    later = NOON + minutes(180)

    operation = order(Do.RESCHEDULE, later.isoformat(timespec="microseconds"))

    assert notes(operation) == [Outcome.NOT_DELAYED.sentence, Status.DONE]
    assert Delayed.objects.get().due_at == later
    (event,) = Event.objects.filter(kind=Kind.RESCHEDULE)
    assert (event.actor, event.ids, event.came_from, event.went_to) == (
        *("omar", [waits], Place.DELAYED, Place.DELAYED),
    )
    assert [one.message_id for one in UnitOfWork(now=NOON).get("orders", 2)] == [first]
    assert UnitOfWork(now=later - minutes(1)).get("orders") == []
    assert [one.message_id for one in UnitOfWork(now=later).get("orders")] == [waits]


@pytest.mark.parametrize("wait", [minutes(-1), minutes(60 * 24 * 400), None])
def test_a_time_that_cannot_be_due_is_refused(wait: timedelta | None) -> None:
    make_orders(0, delayed=1)
    with pytest.raises(InvalidDueTime):
        order(Do.RESCHEDULE, (NOON + wait).isoformat() if wait else "")
    assert not Operation.objects.exists()


def test_another_due_time_is_taken_back() -> None:
    (waits,) = make_orders(0, delayed=1)
    before = Delayed.objects.get().due_at
    operation = order(Do.RESCHEDULE, (NOON + minutes(180)).isoformat())

    undone = undo(operation)

    assert notes(undone) == [Status.DONE]
    assert delayed_on("orders") == [waits]
    assert Delayed.objects.get().due_at == before
    assert fsck.violations() == []
