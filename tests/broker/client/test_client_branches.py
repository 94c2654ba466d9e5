"""Sessions that commit in two phases: the branches that they prepare."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.client import Connection
from broker.errors import BrokerError, LockLost
from broker.errors.units_of_work import (
    BackedOut,
    NoSuchXid,
    NotCoordinated,
    WrongXid,
    XidInUse,
)
from broker.models import DeadLetter, Queue
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.settlement.settle import back_out_overdue
from tests.broker.promising import promise
from tests.broker.receiving import (
    CLIENT,
    TRANSACTED,
    client,
    consumer,
    counts,
    put_orders,
    received,
    session,
)
from tests.make import NOON, make_queue, make_setting, make_user, minutes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queues() -> None:
    for name in ("orders", "answers", "DLQ"):
        make_queue(name)
    make_setting("orders", dead_letter_address="DLQ", max_delivery_attempts=-1)


def prepared_by(connection: Connection, xid: str) -> None:
    """Prepare a branch that accepts a message, rejects another, and sends an answer."""
    one = connection.session(TRANSACTED, prefetch=9)
    receiving = one.consumer("orders")
    bad, good = receiving.receive_nowait(), receiving.receive_nowait()
    assert bad is not None
    assert good is not None
    bad.reject("no\0 customer")
    one.producer("answers").send(b"done")
    one.prepare(xid)
    assert received(receiving, 1) == [b"3"]  # the next unit of work has begun
    one.rollback()


@pytest.mark.spec("UOW-1", "UOW-7")
def test_a_branch_outlives_session_and_deadline_and_another_commits_it() -> None:
    put_orders(3)
    with client() as connection:
        prepared_by(connection, "order 17")
    back_out_overdue(limit=10, now=NOON + minutes(60))
    assert counts() == [(b"3", 1)]
    assert counts("answers") == []

    recovery = client(client_id="recovery")
    (branch,) = recovery.branches()
    assert (branch.xid, branch.entries, branch.puts) == ("order 17", 2, 1)
    recovery.commit_branch(branch.xid)

    assert counts("answers") == [(b"done", 0)]
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.error) == ("REJECTED", r"no\0 customer")
    assert counts() == [(b"3", 1)]
    assert recovery.branches() == []
    assert not UnitRow.objects.exists()
    assert fsck.violations() == []
    with pytest.raises(NoSuchXid):
        recovery.commit_branch(branch.xid)


@pytest.mark.spec("UOW-2")
def test_a_branch_that_is_rolled_back_redelivers_and_sends_nothing() -> None:
    put_orders(3)
    prepared_by(client(), "order 17")
    client().rollback_branch("order 17", "the bank said no")
    assert counts() == [(b"1", 1), (b"2", 1), (b"3", 1)]
    assert counts("answers") == []
    assert not DeadLetter.objects.exists()


def test_everyone_sees_and_ends_the_branches_of_his_own_only() -> None:
    put_orders(2)
    promise("of a bridge")
    one, other = (client(user=make_user(name)) for name in ("a", "b"))
    for connection in (one, other):
        connection.session(TRANSACTED).prepare("1")
    assert client().branches() == []
    assert [branch.xid for branch in one.branches()] == ["1"]
    one.commit_branch("1")
    with pytest.raises(NoSuchXid):
        one.rollback_branch("1")
    assert [branch.xid for branch in other.branches()] == ["1"]


@pytest.mark.parametrize(
    ("error", "xid", "mark"),
    [(XidInUse, "used", False), (WrongXid, "\n", False), (NotCoordinated, "1", True)],
)
def test_what_cannot_be_prepared_stays_open(
    error: type[BrokerError], xid: str, *, mark: bool
) -> None:
    session(TRANSACTED).prepare("used")
    put_orders(1)
    receiving = consumer(TRANSACTED)
    assert receiving.receive_nowait(mark=mark) is not None
    with pytest.raises(error):
        receiving.session.prepare(xid)
    receiving.session.commit()
    assert counts() == []


@pytest.mark.spec("UOW-7", "UOW-8")
@pytest.mark.parametrize(
    ("error", "spoil"),
    [
        (LockLost, lambda: back_out_overdue(limit=10, now=NOON + minutes(6))),
        (BackedOut, lambda: Queue.objects.filter(name="full").update(max_depth=0)),
    ],
)
def test_what_is_lost_or_cannot_be_committed_is_not_prepared(
    error: type[BrokerError], spoil: Callable[[], object]
) -> None:
    put_orders(1)
    make_queue("full")
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"1"]
    spoil()
    receiving.session.producer("full").send(b"too much")
    with pytest.raises(error) as caught:
        receiving.session.prepare("order 17")
    assert caught.value.reason == 2003
    assert counts() == [(b"1", 1)]
    assert client().branches() == []
    receiving.session.commit()  # of the next unit of work


def test_only_a_transacted_session_is_prepared() -> None:
    with pytest.raises(ValueError, match="no such end"):
        session(CLIENT).prepare("order 17")
