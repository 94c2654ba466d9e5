"""A marked get is left out of a backout, and waits in a unit of work of its own."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from broker.errors import LockLost
from broker.errors.units_of_work import BackedOut, MarkNotPossible, SecondMark
from broker.models import Claim, Kind, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing.journal import lifeline
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db

LATER = NOON + minutes(6)  # the deadline is over


@pytest.fixture(autouse=True)
def _queues() -> None:
    make_queue("orders")
    make_queue("notices")


def marked(count: int = 3) -> UnitOfWork:
    """A unit of work that has all of that many messages; the first is marked."""
    put_many(make_messages(count), now=NOON)
    work = UnitOfWork(now=NOON)
    assert [d.body for d in work.get("orders", mark=True)] == [b"1"]
    assert len(work.get("orders", count)) == count - 1
    return work


def skipped(count: int = 3) -> UnitOfWork:
    work = marked(count)
    work.back_out("no")
    assert work.skipped is not None
    return work.skipped


def counts(now: Any = NOON) -> dict[bytes, int]:
    """Bodies and backout counts of what a get finds, in its order; then given back."""
    work = UnitOfWork(now=now)
    found = work.get("orders", 10)
    for delivery in found:
        work.release(delivery)
    return {delivery.body: delivery.backout_count for delivery in found}


@pytest.mark.spec("SKIP-1", "SKIP-3", "UOW-2")
def test_an_application_backs_out_all_but_the_marked_message() -> None:
    work = marked()
    work.put("notices", b"undone")
    work.back_out("no")
    assert counts() == {b"2": 1, b"3": 1}
    assert not Ready.objects.exclude(queue_id=Claim.objects.get().queue_id).exists()
    assert Claim.objects.get().backout_counts == [0]


@pytest.mark.spec("SKIP-3")
def test_the_marked_message_stays_locked() -> None:
    after = skipped(1)
    assert UnitOfWork(now=NOON).get("orders") == []
    assert after.held == 1
    assert UnitOfWorkRow.objects.get().pk == after.id


@pytest.mark.spec("SKIP-4")
def test_a_second_mark_gets_nothing_and_changes_nothing() -> None:
    work = marked(2)
    put("orders", b"3", now=NOON)
    with pytest.raises(SecondMark) as caught:
        work.get("orders", mark=True)
    assert caught.value.reason == 2062
    work.back_out("no")
    assert work.skipped is not None  # the first mark holds
    assert counts() == {b"2": 1, b"3": 0}


@pytest.mark.spec("SKIP-4")
def test_a_marked_get_that_finds_nothing_uses_up_no_mark() -> None:
    work = UnitOfWork(now=NOON)
    assert work.get("orders", mark=True) == []
    put("orders", b"1", now=NOON)
    assert len(work.get("orders", mark=True)) == 1


@pytest.mark.spec("SKIP-5", "SKIP-8")
def test_the_second_unit_of_work_is_committed_with_its_notice() -> None:
    after = skipped()
    after.put("notices", b"could not")
    after.commit()
    assert counts() == {b"2": 1, b"3": 1}
    (notice,) = UnitOfWork(now=NOON).get("notices")
    assert notice.body == b"could not"
    assert fsck.violations() == []


@pytest.mark.spec("SKIP-5", "SKIP-8", "SKIP-9")
def test_the_second_unit_of_work_is_backed_out_like_any_other() -> None:
    make_setting("orders", redelivery_delay_ms=60_000)
    after = skipped(1)  # at the skip nothing was delayed or counted
    after.put("notices", b"could not")
    after.back_out("no again")
    assert after.skipped is None
    assert counts() == {}
    assert counts(NOON + minutes(1)) == {b"1": 1}  # once, and after its delay
    assert UnitOfWork(now=NOON).get("notices") == []


@pytest.mark.spec("SKIP-9", "UNIFY-13")
def test_attempts_are_used_up_when_the_second_unit_of_work_is_backed_out() -> None:
    make_queue("DLQ")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLQ")
    after = skipped(1)
    assert UnitOfWork(now=NOON).get("DLQ") == []
    after.back_out("no again")
    assert len(UnitOfWork(now=NOON).get("DLQ")) == 1


@pytest.mark.spec("SKIP-5")
def test_in_the_second_unit_of_work_another_message_can_be_marked() -> None:
    after = skipped(2)  # holds 1; 2 is ready, and came back
    assert [d.body for d in after.get("orders", mark=True)] == [b"2"]
    after.back_out("no")
    assert counts() == {b"1": 1}
    assert after.skipped is not None
    after.skipped.commit()
    assert counts() == {b"1": 1}


@pytest.mark.spec("SKIP-6")
def test_a_system_backout_knows_no_mark() -> None:
    work = marked()
    work.back_out("the link is lost", by_system=True)
    assert work.skipped is None
    assert counts() == {b"1": 1, b"2": 1, b"3": 1}


@pytest.mark.spec("SKIP-6")
def test_a_passed_deadline_knows_no_mark() -> None:
    work = marked()
    settle.back_out_overdue(limit=10, now=LATER)
    assert counts() == {b"1": 1, b"2": 1, b"3": 1}
    with pytest.raises(LockLost):
        work.back_out("too late")
    assert counts() == {b"1": 1, b"2": 1, b"3": 1}


@pytest.mark.spec("SKIP-6", "UOW-8")
def test_a_failed_commit_knows_no_mark() -> None:
    work = marked()
    work.put("nowhere")
    with pytest.raises(BackedOut) as caught:
        work.commit()
    assert caught.value.reason == 2003
    assert work.skipped is None
    assert counts() == {b"1": 1, b"2": 1, b"3": 1}


@pytest.mark.spec("SKIP-5")
def test_a_second_unit_of_work_that_nobody_ends_is_backed_out_by_the_system() -> None:
    skipped(1)
    settle.back_out_overdue(limit=10, now=LATER)
    assert counts(LATER) == {b"1": 1}


@pytest.mark.spec("SKIP-4")
def test_a_commit_takes_the_marked_message_like_any_other() -> None:
    marked().commit()
    assert counts() == {}
    assert not UnitOfWorkRow.objects.exists()


def test_what_is_settled_alone_is_skipped_no_more() -> None:
    put_many(make_messages(2), now=NOON)
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders", mark=True)
    work.get("orders")
    work.accept(delivery)
    work.back_out("no")
    assert work.skipped is None
    assert counts() == {b"2": 1}


@pytest.mark.spec("SKIP-7")
def test_the_switch_turns_marks_off(settings: Any) -> None:
    settings.BROKER_SKIP_BACKOUT = False
    put("orders", now=NOON)
    with pytest.raises(MarkNotPossible) as caught:
        UnitOfWork(now=NOON).get("orders", mark=True)
    assert caught.value.reason == 2274
    assert len(UnitOfWork(now=NOON).get("orders")) == 1


@pytest.mark.spec("SKIP-7")
def test_a_coordinated_unit_of_work_has_no_marks() -> None:
    put("orders", now=NOON)
    with pytest.raises(MarkNotPossible):
        UnitOfWork(coordinated=True, now=NOON).get("orders", mark=True)


@pytest.mark.spec("SKIP-8")
def test_the_ten_steps() -> None:
    put_many(make_messages(2), now=NOON)
    work = UnitOfWork(now=NOON)  # 1 open
    (message,) = work.get("orders", mark=True)  # 2 get it with the mark
    work.get("orders")  # 3 more gets and updates
    work.put("notices", b"done")
    work.back_out("trouble")  # 4 did not go well, 5 back out
    assert UnitOfWork(now=NOON).get("notices") == []  # 6 the updates are undone
    after = work.skipped  # 7 the message is in another unit of work
    assert after is not None
    assert Claim.objects.get().ids == [message.message_id]
    after.put("notices", b"trouble with 1")  # 8 exception handling
    after.commit()  # 9 went well
    assert counts() == {b"2": 1}
    (notice,) = UnitOfWork(now=NOON).get("notices")
    assert notice.body == b"trouble with 1"


@pytest.mark.spec("SKIP-3")
def test_the_journal_tells_of_the_skip() -> None:
    after = skipped(1)
    (skip,) = [
        event
        for event in lifeline(Claim.objects.get().ids[0])
        if event.kind == Kind.SKIP
    ]
    assert (skip.uow, skip.detail["error"]) == (after.id, "no")
    assert fsck.violations() == []


@pytest.mark.thorough
@pytest.mark.spec("SKIP-5")
@pytest.mark.parametrize("way", ["commit", "back_out", ""])
def test_a_unit_of_work_that_is_dropped_is_told(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    after = skipped(1)
    number = after.id
    if way:
        getattr(after, way)(*["no"] * (way == "back_out"))
    del after
    gc.collect()
    dropped = [one.getMessage() for one in caplog.records]
    assert len(dropped) == (not way)
    assert all(f"Unit of work {number}" in one for one in dropped)
