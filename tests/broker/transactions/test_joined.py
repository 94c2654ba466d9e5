"""Units of work that are one database transaction with the caller's own rows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from broker import tasks
from broker.errors import LockLost
from broker.errors.mq_codes import Report
from broker.models import Claim, Place, Queue, Ready
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.browse import browse
from broker.queueing.put import put, put_many
from broker.transactions.scope import unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


def test_rows_and_acceptance_are_one_commit(orders: Queue) -> None:
    put("orders")
    with unit_of_work(join=True) as work:
        (delivery,) = work.get("orders")
        User.objects.create(username=f"customer {delivery.message_id}")

    assert User.objects.count() == 1
    assert journal.depths()[orders.pk].total == 0


@pytest.mark.spec("UOW-1", "UOW-2")
def test_a_backout_undoes_the_rows_and_counts_the_delivery(orders: Queue) -> None:
    put("orders")
    with pytest.raises(IntegrityError), unit_of_work(join=True) as work:
        work.get("orders")
        User.objects.create(username="twice")
        User.objects.create(username="twice")

    assert not User.objects.exists()
    with unit_of_work() as work:
        (delivery,) = work.get("orders")
    assert delivery.backout_count == 1
    assert (
        journal.lifeline(delivery.message_id)[2]
        .detail["error"]
        .startswith("IntegrityError: duplicate key")
    )


@pytest.mark.spec("REPORT-2")
def test_a_delivery_is_confirmed_with_the_rows(orders: Queue) -> None:
    make_queue("answers")
    put("orders", reply_to="answers", descriptor={"report": int(Report.COD)})
    with pytest.raises(RuntimeError), unit_of_work(join=True) as work:
        work.get("orders")
        raise RuntimeError
    assert Ready.objects.count() == 1
    with unit_of_work(join=True) as work:
        work.get("orders")
    assert Ready.objects.get().queue_id == Queue.objects.get(name="answers").pk


@pytest.mark.parametrize("write_first", [False, True])
def test_rows_written_before_the_first_get_are_undone_too(
    orders: Queue, write_first: bool
) -> None:
    put_many(make_messages(2))
    with pytest.raises(RuntimeError), unit_of_work(join=True) as work:
        if write_first:
            User.objects.create(username="early")
        work.get("orders")
        work.get("orders")
        raise RuntimeError("no")

    assert not User.objects.exists()
    with unit_of_work() as work:
        assert [d.backout_count for d in work.get("orders", 5)] == [1, 1]


def test_puts_are_sent_or_forgotten_with_the_rest(orders: Queue) -> None:
    answers = make_queue("answers")
    put("orders")
    for error in (RuntimeError("no"), None):
        try:
            with unit_of_work(join=True) as work:
                work.get("orders")
                work.put("answers")
                if error:
                    raise error
        except RuntimeError:
            assert browse(answers.pk, Place.READY) == []

    assert len(browse(answers.pk, Place.READY)) == 1


def test_an_entry_that_is_got_after_rows_were_written_is_got_with_them(
    orders: Queue,
) -> None:
    put_many(make_messages(2))
    with pytest.raises(RuntimeError), unit_of_work(join=True) as work:
        work.get("orders")
        User.objects.create(username="customer")
        work.get("orders")
        raise RuntimeError

    assert not User.objects.exists()
    assert [one.backout_count for one in Ready.objects.all()] == [1, 1]
    assert fsck.violations() == []


def test_one_that_was_delayed_and_is_got_after_rows_were_written_is_counted(
    orders: Queue,
) -> None:
    put("orders", deliver_at=NOON + minutes(1))
    later = NOON + minutes(2)
    with pytest.raises(RuntimeError), unit_of_work(join=True, now=later) as work:
        User.objects.create(username="customer")
        assert len(work.get("orders")) == 1
        raise RuntimeError

    assert [one.backout_count for one in Ready.objects.all()] == [1]
    assert fsck.violations() == []


@pytest.mark.spec("UOW-7")
def test_one_that_takes_too_long_is_backed_out_and_its_rows_undone(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    put("orders")
    with pytest.raises(LockLost), unit_of_work(join=True) as work:
        work.get("orders")
        User.objects.create(username="customer")
        elsewhere(UnitRow.objects.update, deadline="2026-01-01T00:00Z")
        elsewhere(tasks.back_out_overdue)

    assert not User.objects.exists()
    assert Ready.objects.get().backout_count == 1
    assert fsck.violations() == []


def test_without_an_entry_the_rows_are_committed(orders: Queue) -> None:
    with unit_of_work(join=True) as work:
        assert work.get("orders") == []
        User.objects.create(username="customer")

    assert User.objects.count() == 1
    assert not UnitRow.objects.exists()


def test_callbacks_run_after_the_acceptance(orders: Queue) -> None:
    put("orders")
    left: list[int] = []
    with unit_of_work(join=True) as work:
        work.get("orders")
        transaction.on_commit(lambda: left.append(Claim.objects.count()))

    assert left == [0]
