"""Gets and puts that end together, leased and joined."""

from __future__ import annotations

import pytest
from django.db import transaction

from broker.errors import LockLost, UnitOfWorkEnded
from broker.models import Claim, Place, Queue
from broker.models import UnitOfWork as UnitRow
from broker.queueing import journal
from broker.queueing.browse import browse
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db


def bodies(deliveries: list[Delivery]) -> list[bytes]:
    return [delivery.body for delivery in deliveries]


@pytest.mark.spec("UOW-1")
def test_what_is_got_is_locked_until_the_end_and_gone_after_a_commit(
    orders: Queue,
) -> None:
    put_many(make_messages(3))

    with unit_of_work() as work, unit_of_work() as other:
        assert bodies(work.get("orders", 2)) == [b"1", b"2"]
        assert bodies(other.get("orders", 5)) == [b"3"]

    assert journal.depths()[orders.pk].total == 0
    assert not Claim.objects.exists()
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UOW-1")
def test_what_is_put_appears_at_the_commit_in_order(orders: Queue) -> None:
    answers = make_queue("answers")
    with unit_of_work() as work:
        work.put("answers", b"1")
        work.put("answers", b"2")
        assert browse(answers.pk, Place.READY) == []

    with unit_of_work() as work:
        assert bodies(work.get("answers", 5)) == [b"1", b"2"]


@pytest.mark.spec("UOW-1", "UOW-3")
def test_a_backout_undoes_the_puts_and_returns_the_gets_in_order(orders: Queue) -> None:
    make_queue("answers")
    put_many(make_messages(4))

    with pytest.raises(ValueError, match="no such customer"), unit_of_work() as work:
        work.get("orders", 2)
        work.put("answers", b"done")
        raise ValueError("no such customer")

    with unit_of_work() as work:
        assert bodies(work.get("orders", 9)) == [b"1", b"2", b"3", b"4"]
        assert work.get("answers") == []


@pytest.mark.spec("UOW-2")
def test_each_backout_adds_one_to_the_count_and_nothing_else_does(
    orders: Queue,
) -> None:
    put("orders")
    counts = []
    for _ in range(3):
        work = UnitOfWork()
        counts += [(d.backout_count, d.delivery_count) for d in work.get("orders")]
        browse(orders.pk, Place.READY)
        work.back_out("not yet")
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    work.release(delivery)
    work.commit()
    with unit_of_work() as work:
        counts += [(d.backout_count, d.delivery_count) for d in work.get("orders")]

    assert counts == [(0, 1), (1, 2), (2, 3), (3, 5)]


def test_higher_priorities_go_first_and_what_came_back_goes_before_its_like(
    orders: Queue,
) -> None:
    for priority in (4, 4, 9):
        put("orders", str(priority).encode(), priority=priority)
    work = UnitOfWork()
    work.get("orders", 2)
    work.back_out("again")

    with unit_of_work() as work:
        got = work.get("orders", 3)

    assert [(d.priority, d.backout_count) for d in got] == [(9, 1), (4, 1), (4, 0)]


def test_a_settled_part_is_out_of_the_rest(orders: Queue) -> None:
    put_many(make_messages(450))
    work = UnitOfWork()
    got = work.get("orders", 450)
    assert Claim.objects.count() == 3

    work.accept(got[0])
    work.release(got[449])
    work.back_out("the rest")

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed) == (449, 0)


def test_a_unit_of_work_past_its_deadline_is_backed_out_and_its_holder_told(
    orders: Queue,
) -> None:
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    later = NOON + minutes(5)

    assert settle.back_out_overdue(limit=10, now=later - seconds(1)) == 0
    assert settle.back_out_overdue(limit=10, now=later) == 1

    with pytest.raises(LockLost):
        work.commit()
    with unit_of_work() as other:
        (delivery,) = other.get("orders")
    assert delivery.backout_count == 1


def test_puts_of_a_lost_unit_of_work_are_not_sent(orders: Queue) -> None:
    answers = make_queue("answers")
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.put("answers")
    settle.back_out_overdue(limit=10, now=NOON + minutes(6))

    with pytest.raises(LockLost), transaction.atomic():
        work.commit()

    assert browse(answers.pk, Place.READY) == []


def test_an_ended_unit_of_work_refuses_everything(orders: Queue) -> None:
    work = UnitOfWork()
    work.commit()
    for call in (work.commit, lambda: work.get("orders"), lambda: work.put("orders")):
        with pytest.raises(UnitOfWorkEnded):
            call()


def test_a_paused_queue_takes_and_does_not_give(orders: Queue) -> None:
    Queue.objects.update(paused=True)
    put("orders")
    with unit_of_work() as work:
        assert work.get("orders") == []


def test_a_due_entry_is_found_without_any_worker(orders: Queue) -> None:
    make_setting("orders", redelivery_delay_ms=1000)
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.back_out("busy")

    early = UnitOfWork(now=NOON + seconds(0.999))
    assert early.get("orders") == []
    assert len(UnitOfWork(now=NOON + seconds(1)).get("orders")) == 1
