"""What is not prepared, and who may not end what is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.errors import BrokerError, LockLost, UnitOfWorkEnded
from broker.errors.mq_codes import Reason
from broker.errors.queues import PutInhibited
from broker.errors.units_of_work import (
    BackedOut,
    MarkNotPossible,
    NoSuchXid,
    NotCoordinated,
    WrongXid,
    XidInUse,
)
from broker.models import (
    Queue,
)
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.settlement.outcomes import Release
from broker.transactions import prepared
from broker.transactions.prepared import back_out_prepared, commit_prepared, prepare
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.promising import promise, ready
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.usefixtures("transactional_db")

MUCH_LATER = NOON + minutes(60 * 24)


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


@pytest.fixture
def answers(transactional_db: None) -> Queue:
    return make_queue("answers")


def test_a_unit_of_work_that_lost_its_entries_is_not_prepared(
    orders: Queue, answers: Queue
) -> None:
    put("orders", now=NOON)
    work = UnitOfWork(coordinated=True, now=NOON)
    work.get("orders")
    work.put("answers")
    settle.back_out_overdue(limit=10, now=MUCH_LATER)

    with pytest.raises(LockLost):
        prepare(work, "branch 1")

    assert work.ended
    assert prepared.prepared() == []


def test_a_unit_of_work_with_fewer_entries_than_it_believes_is_not_prepared(
    orders: Queue,
) -> None:
    put_many(make_messages(2))
    work = UnitOfWork(coordinated=True)
    first, _ = work.get("orders", 2)
    settle.settle_some(first.uow, first.queue_id, [first.message_id], Release())

    with pytest.raises(LockLost):
        prepare(work, "branch 1")

    assert prepared.prepared() == []


@pytest.mark.spec("UOW-8")
@pytest.mark.parametrize("to", ["full", "nowhere"])
def test_what_could_not_be_committed_is_backed_out_instead_of_prepared(
    orders: Queue, to: str
) -> None:
    make_queue("full", max_depth=0)
    put("orders")
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    work.put(to)

    with pytest.raises(BackedOut) as refusal:
        prepare(work, "branch 1")

    assert refusal.value.reason == Reason.BACKED_OUT
    assert prepared.prepared() == []
    with unit_of_work() as again:
        assert [d.backout_count for d in again.get("orders")] == [1]


def test_what_cannot_be_committed_any_more_stays_prepared(
    orders: Queue, answers: Queue
) -> None:
    put_many(make_messages(2))
    promise()
    Queue.objects.filter(name="answers").update(put_inhibited=True)

    with pytest.raises(PutInhibited):
        commit_prepared("branch 1")

    (waiting,) = prepared.prepared()
    assert (waiting.entries, waiting.puts) == (2, 1)
    Queue.objects.filter(name="answers").update(put_inhibited=False)
    commit_prepared("branch 1")
    assert ready(answers) == 1


@pytest.mark.parametrize("xid", ["", "x" * 301, "a\x00b", "a\nb", "\ud800"])
def test_an_xid_that_cannot_be_kept_is_refused(orders: Queue, xid: str) -> None:
    put("orders")
    work = UnitOfWork(coordinated=True)
    work.get("orders")

    with pytest.raises(WrongXid):
        prepare(work, xid)

    prepare(work, "x" * 300)


def test_two_units_of_work_cannot_have_one_xid(orders: Queue, answers: Queue) -> None:
    put_many(make_messages(2))
    promise(entries=1)
    work = UnitOfWork(coordinated=True)
    work.get("orders")

    with pytest.raises(XidInUse):
        prepare(work, "branch 1")

    prepare(work, "branch 2")  # it goes on
    assert [one.xid for one in prepared.prepared()] == ["branch 1", "branch 2"]
    commit_prepared("branch 1")
    commit_prepared("branch 2")


def test_an_xid_is_good_for_one_decision(orders: Queue, answers: Queue) -> None:
    put_many(make_messages(2))
    promise()
    commit_prepared("branch 1")

    for decide in (commit_prepared, back_out_prepared):
        with pytest.raises(NoSuchXid):
            decide("branch 1")
    promise_again = UnitOfWork(coordinated=True)
    prepare(promise_again, "branch 1")  # the name is free again


@pytest.mark.parametrize("late", [commit_prepared, back_out_prepared])
def test_of_two_who_decide_at_once_the_later_finds_nothing(
    orders: Queue, answers: Queue, elsewhere: Elsewhere, late: Callable[[str], object]
) -> None:
    put_many(make_messages(2))
    promise()
    elsewhere.begin()
    elsewhere(commit_prepared, "branch 1")
    other = Background(lambda: late("branch 1"))
    other.thread.join(0.2)
    assert other.thread.is_alive(), "it waits until it is known what the first did"
    elsewhere.commit()

    with pytest.raises(NoSuchXid):
        other.join()

    assert (ready(orders), ready(answers)) == (0, 1)


def test_its_holder_cannot_end_what_is_prepared(orders: Queue, answers: Queue) -> None:
    put_many(make_messages(2))
    work = promise()

    for end in (work.commit, lambda: work.back_out("no"), lambda: prepare(work, "2")):
        with pytest.raises(UnitOfWorkEnded):
            end()
    assert len(prepared.prepared()) == 1


def test_only_a_coordinated_unit_of_work_can_be_prepared(orders: Queue) -> None:
    put("orders")
    with unit_of_work() as work:
        work.get("orders")
        with pytest.raises(NotCoordinated):
            prepare(work, "branch 1")

    assert journal.depths()[orders.pk].total == 0


@pytest.mark.spec("SKIP-7")
def test_a_coordinated_unit_of_work_cannot_mark_an_entry(orders: Queue) -> None:
    put("orders")
    work = UnitOfWork(coordinated=True)

    with pytest.raises(MarkNotPossible) as refusal:
        work.get("orders", mark=True)

    assert refusal.value.reason == Reason.OPTION_ENVIRONMENT_ERROR
    assert int(refusal.value.reason) == 2274
    assert ready(orders) == 1


def test_errors_say_what_to_do() -> None:
    errors: list[BrokerError] = [
        NotCoordinated(None),
        WrongXid(""),
        XidInUse("x"),
        NoSuchXid("x"),
    ]
    assert all(str(error).endswith(".") for error in errors)
