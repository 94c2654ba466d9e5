"""Units of work that only put: listed when they last, and ended at their deadline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.errors import LockLost
from broker.models import Kind, Queue
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.settlement.settle import back_out_overdue
from broker.transactions import put_only
from broker.transactions.administration import Nature, force, open_units
from broker.transactions.prepared import commit_prepared, prepare
from broker.transactions.scope import UnitOfWork
from tests.broker.promising import ready
from tests.broker.receiving import TRANSACTED, client, received
from tests.make import NOON, make_queue, minutes, seconds

LONG_AFTER = NOON + minutes(6)


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


def lasting() -> UnitOfWork:
    """A unit of work that put a message two seconds ago."""
    work = UnitOfWork(coordinated=True, now=NOON)
    work.put("orders", b"1")
    put_only.here().make_rows()
    assert not UnitRow.objects.exists()
    work.now = NOON + seconds(2)
    put_only.here().make_rows()
    return work


@pytest.mark.spec("UOW-7", "UOW-8")
def test_one_that_lasts_is_listed_and_ends_at_its_deadline(orders: Queue) -> None:
    work = lasting()

    (unit,) = open_units(now=NOON + seconds(3))
    assert (unit.id, unit.entries, unit.nature) == (work.id, 0, Nature.LEASED)
    assert (unit.started_at, unit.deadline) == (NOON, NOON + minutes(5))
    assert unit.is_alive
    assert back_out_overdue(limit=10, now=LONG_AFTER) == 1

    assert open_units() == []
    with pytest.raises(LockLost) as caught:
        work.commit()
    assert caught.value.reason == 2003
    assert ready(orders) == 0


def prepared_and_committed(work: UnitOfWork) -> None:
    prepare(work, "branch 1")
    commit_prepared("branch 1")


def backed_out(work: UnitOfWork) -> None:
    assert work.back_out("no") == []


def backed_out_by_an_operator(work: UnitOfWork) -> None:
    assert work.id is not None
    force(work.id, why="it hangs", actor="omar")
    with pytest.raises(LockLost):
        work.commit()


@pytest.mark.parametrize(
    ("end", "sent"),
    [
        (UnitOfWork.commit, 1),
        (prepared_and_committed, 1),
        (backed_out, 0),
        (backed_out_by_an_operator, 0),
    ],
)
def test_one_that_is_listed_ends_like_any_other(
    orders: Queue, end: Callable[[UnitOfWork], None], sent: int
) -> None:
    end(lasting())

    assert ready(orders) == sent
    assert not UnitRow.objects.exists()
    assert fsck.violations() == []


def test_what_it_gets_later_is_in_the_same_unit_of_work(orders: Queue) -> None:
    lasting().commit()
    work = lasting()
    listed = work.id

    (delivery,) = work.get("orders")
    work.commit()

    assert delivery.uow == listed
    assert ready(orders) == 1
    assert journal.depths()[orders.pk].done[Kind.ACCEPT] == 1
    assert not UnitRow.objects.exists()


def test_a_thread_lists_it_while_its_program_does_nothing_and_then_ends(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(put_only, "LISTED_AFTER_S", 0.01)
    monkeypatch.setattr(put_only, "_watch", put_only.Watch())
    work = UnitOfWork()
    work.put("orders", b"1")
    assert work.get("orders") == []
    thread = put_only.here().thread
    assert thread is not None
    thread.join(30)

    (unit,) = open_units()
    assert unit.id == work.id
    work.commit()
    assert ready(orders) == 1
    assert put_only.here().thread is None


@pytest.mark.spec("UOW-7", "UOW-8")
@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("call", ["commit", "receive", "send"])
def test_who_took_too_long_is_told_before_the_system_looks(
    call: str, is_listed: bool
) -> None:
    queue = make_queue()
    connection = client()
    session = connection.session(TRANSACTED)
    producer, consumer = session.producer("orders"), session.consumer("orders")
    producer.send(b"too late")
    calls: dict[str, Callable[[], object]] = {
        "commit": session.commit,
        "receive": consumer.receive_nowait,
        "send": producer.send,
    }
    if is_listed:
        session.holding.work.now = NOON + seconds(2)
        put_only.here().make_rows()
    assert UnitRow.objects.count() == is_listed
    connection.now = LONG_AFTER

    with pytest.raises(LockLost) as caught:
        calls[call]()

    assert caught.value.reason == 2003
    assert "no longer holds its messages" in str(caught.value)
    producer.send(b"of the next unit of work")
    session.commit()
    assert ready(queue) == 1
    assert received(consumer) == [b"of the next unit of work"]
    session.rollback()
    assert back_out_overdue(limit=10, now=LONG_AFTER) == is_listed
    assert not UnitRow.objects.exists()
    assert fsck.violations() == []
