"""Units of work with puts: listed when they last, and ended at their deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from broker.errors import LockLost
from broker.models import Kind, Queue
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put_many
from broker.settlement.settle import back_out_overdue
from broker.transactions import prefetch, put_only
from broker.transactions.administration import Nature, force, open_units
from broker.transactions.prepared import commit_prepared, prepare
from broker.transactions.scope import UnitOfWork
from tests.broker.promising import ready
from tests.broker.receiving import TRANSACTED, client, received
from tests.make import NOON, make_messages, make_queue, minutes, seconds

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

    until_noted(1)
    assert [unit.id for unit in open_units()] == [work.id]
    work.put("orders", b"2")
    until_noted(2)
    work.commit()
    thread.join(30)
    assert ready(orders) == 2
    assert put_only.here().thread is None


def test_the_thread_goes_on_after_an_error(
    orders: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    errors = iter([RuntimeError("no thread may connect")])
    ask = prefetch.begun

    def begun(*args: Any, **values: Any) -> int:
        for error in errors:
            raise error
        return ask(*args, **values)

    monkeypatch.setattr(put_only, "begun", begun)
    monkeypatch.setattr(put_only, "LISTED_AFTER_S", 0.01)
    monkeypatch.setattr(put_only, "_watch", put_only.Watch())
    work = UnitOfWork()
    work.put("orders", b"1")

    until_noted(1)
    assert "Units of work could not be listed" in caplog.text
    thread = put_only.here().thread
    assert thread is not None
    work.commit()
    thread.join(30)


def until_noted(puts: int) -> None:
    limit_s = time.monotonic() + 30
    while [unit.puts for unit in open_units()] != [puts]:
        assert time.monotonic() < limit_s


def test_the_puts_of_one_that_holds_messages_are_noted_once_it_has_lasted(
    orders: Queue,
) -> None:
    put_many(make_messages(1))
    work = UnitOfWork(coordinated=True)
    work.put("orders", b"1")
    work.get("orders")
    assert work.id is not None
    watch = put_only.here()
    watch.make_rows()
    watch.note_puts()
    assert [one.puts for one in open_units()] == [0]

    watch.note_puts()
    assert [one.puts for one in open_units()] == [1]

    work.put("orders", b"2")
    with transaction.atomic(), ThreadPoolExecutor(1) as other:
        UnitRow.objects.select_for_update().get(pk=work.id)
        other.submit(in_own_session, watch.note_puts).result(30)  # it does not wait
    watch.note_puts()
    work.put("orders", b"3")
    assert [one.puts for one in open_units()] == [2]

    prepare(work, "branch 1")
    assert [one.puts for one in open_units()] == [3]
    commit_prepared("branch 1")
    assert ready(orders) == 3


def in_own_session(call: Callable[[], None]) -> None:
    try:
        call()
    finally:
        connection.close()


@pytest.mark.spec("UOW-7", "UOW-8")
@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("call", ["commit", "receive", "send"])
def test_who_took_too_long_is_told_before_the_system_looks(
    call: str, is_listed: bool
) -> None:
    queue = make_queue()
    line = client()
    session = line.session(TRANSACTED)
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
    line.now = LONG_AFTER

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
