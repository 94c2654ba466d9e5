"""Accepting is one statement, and undoes itself where the holder is mistaken."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from broker.errors import LockLost
from broker.models import Claim, Queue, UnitOfWork
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.get import Next, get
from broker.queueing.put import put_many
from broker.settlement import settle
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def orders() -> Queue:
    queue = make_queue("orders")
    put_many(make_messages(3))
    return queue


def taken(count: int) -> int:
    """A unit of work that holds as many entries, each by a get of its own."""
    uow = None
    for number in range(count):
        (delivery,) = get("orders", owner=processes.current(), uow=uow, claim_id=number)
        uow = delivery.uow
    assert uow is not None
    return uow


def test_what_was_got_one_by_one_is_accepted_together(orders: Queue) -> None:
    settle.accept(taken(3), expected=3)

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed) == (0, 0)
    assert not UnitOfWork.objects.exists()
    assert not Claim.objects.exists()
    assert fsck.violations() == []


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_with_another_number_nothing_is_accepted(orders: Queue, expected: int) -> None:
    uow = taken(2)
    assert not connection.in_atomic_block

    with pytest.raises(LockLost):
        settle.accept(uow, expected=expected)

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed) == (1, 2)
    assert UnitOfWork.objects.count() == 1
    settle.accept(uow, expected=2)


def test_what_was_accepted_is_not_accepted_again(orders: Queue) -> None:
    uow = taken(1)
    settle.accept(uow, expected=1)
    for expected in (0, 1):
        with pytest.raises(LockLost):
            settle.accept(uow, expected=expected)


def test_a_holder_s_mistake_undoes_the_transaction_around_it(orders: Queue) -> None:
    uow = taken(1)
    with pytest.raises(LockLost), transaction.atomic():
        put_many(make_messages(5))
        settle.accept(uow, expected=2)

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed) == (2, 1)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("expected", [0, 2])
def test_a_mistake_gets_nothing(orders: Queue, expected: int, limit: int) -> None:
    uow = taken(1)
    with pytest.raises(LockLost):
        settle.accept(uow, expected=expected, then=Next("orders", limit=limit))

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed) == (2, 1)
    got = settle.accept(uow, expected=1, then=Next("orders", limit=limit))
    assert [delivery.body for delivery in got] == [b"2", b"3"][:limit]


@pytest.mark.parametrize("limit", [1, 2])
def test_an_accept_that_finds_nothing_more(orders: Queue, limit: int) -> None:
    assert settle.accept(taken(3), expected=3, then=Next("orders", limit=limit)) == []
    assert not UnitOfWork.objects.exists()
    assert fsck.violations() == []
