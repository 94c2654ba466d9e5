"""Marks where commits are real: a process that dies, a transaction that is joined."""

from __future__ import annotations

import pytest

from broker.errors.units_of_work import MarkNotPossible
from broker.queueing import processes
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.mark.spec("SKIP-6")
def test_the_end_of_a_process_knows_no_mark() -> None:
    make_queue("orders")
    put_many(make_messages(2), now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders", mark=True)
    work.get("orders")
    processes.resign()
    until(lambda: settle.back_out_overdue(limit=10, now=NOON))
    again = UnitOfWork(now=NOON).get("orders", 2)
    assert [(one.body, one.backout_count) for one in again] == [(b"1", 1), (b"2", 1)]


@pytest.mark.spec("SKIP-7")
def test_a_unit_of_work_joined_to_a_transaction_has_no_marks() -> None:
    make_queue("orders")
    put("orders", now=NOON)
    with pytest.raises(MarkNotPossible), unit_of_work(join=True) as work:
        work.get("orders", mark=True)
    assert len(UnitOfWork(now=NOON).get("orders")) == 1
