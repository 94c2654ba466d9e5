"""Commits that cannot be made: the system backs everything out, and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.errors import LockLost
from broker.errors.mq_codes import Reason
from broker.errors.units_of_work import BackedOut
from broker.models import Address, Kind, Place, Queue
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.browse import browse
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.make import NOON, make_messages, make_queue, make_setting, minutes


def depth(queue: Queue) -> int:
    return journal.depths()[queue.pk].total if queue.pk in journal.depths() else 0


def fills_up() -> None:
    put("answers", b"another's")


def is_inhibited() -> None:
    Queue.objects.filter(name="answers").update(put_inhibited=True)


def is_deleted() -> None:
    Queue.objects.filter(name="answers").delete()
    Address.objects.filter(name="answers").delete()


def shrinks() -> None:
    Queue.objects.filter(name="answers").update(max_message_bytes=1)


@pytest.mark.spec("UOW-8")
@pytest.mark.parametrize("happens", [fills_up, is_inhibited, is_deleted, shrinks])
def test_a_commit_that_cannot_be_made_backs_everything_out(
    transactional_db: None, happens: Callable[[], None]
) -> None:
    orders = make_queue()
    make_queue("answers", max_depth=1)
    others = make_queue("others")
    put_many(make_messages(2))
    work = UnitOfWork(actor="handler")
    work.get("orders", 2)
    work.put("others", b"done")
    work.put("answers", b"done")
    happens()

    with pytest.raises(BackedOut) as failed:
        work.commit()

    assert failed.value.reason == Reason.BACKED_OUT
    assert int(failed.value.reason) == 2003
    assert work.ended
    assert browse(others.pk, Place.READY) == []
    with unit_of_work() as again:
        got = again.get("orders", 9)
    assert [(d.body, d.backout_count) for d in got] == [(b"1", 1), (b"2", 1)]
    story = journal.lifeline(got[0].message_id)
    assert [event.kind for event in story] == [
        *(Kind.PUT, Kind.GET, Kind.BACK_OUT),
        *(Kind.GET, Kind.ACCEPT),
    ]
    assert "answers" in story[2].detail["error"]
    assert depth(orders) == 0
    assert fsck.violations() == []


@pytest.mark.spec("UOW-8", "SKIP-6")
def test_a_commit_that_fails_is_no_applications_backout_and_honours_no_mark(
    transactional_db: None,
) -> None:
    make_queue()
    put("orders")
    work = UnitOfWork()
    work.get("orders", mark=True)
    work.put("nowhere")

    with pytest.raises(BackedOut):
        work.commit()

    assert work.skipped is None
    with unit_of_work() as again:
        assert [d.backout_count for d in again.get("orders")] == [1]


@pytest.mark.spec("UOW-8")
def test_the_commit_of_a_unit_of_work_that_was_backed_out_says_so(
    transactional_db: None,
) -> None:
    make_queue()
    answers = make_queue("answers")
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.put("answers")
    settle.back_out_overdue(limit=9, now=NOON + minutes(5))

    with pytest.raises(LockLost) as failed:
        work.commit()

    assert failed.value.reason == Reason.BACKED_OUT
    assert int(failed.value.reason) == 2003
    assert depth(answers) == 0


@pytest.mark.spec("UOW-8")
def test_a_commit_of_puts_alone_that_fails_sends_none(transactional_db: None) -> None:
    answers = make_queue("answers")
    work = UnitOfWork()
    work.put("answers")
    work.put("nowhere")

    with pytest.raises(BackedOut):
        work.commit()

    assert work.ended
    assert depth(answers) == 0


@pytest.mark.spec("UNIFY-14")
def test_what_a_target_refuses_is_dead_lettered_by_its_source(db: None) -> None:
    """A link is a consumer of its source: its failed commits use up attempts there."""
    make_queue()
    make_queue("DLQ")
    make_setting(max_delivery_attempts=3, dead_letter_address="DLQ")
    make_queue("full", max_depth=0)
    put("orders", b"1", now=NOON)
    for _ in range(3):
        work = UnitOfWork(now=NOON)
        (delivery,) = work.get("orders")
        work.put("full", delivery.body)
        with pytest.raises(BackedOut):
            work.commit()
    assert UnitOfWork(now=NOON).get("orders") == []
    (dead,) = UnitOfWork(now=NOON).get("DLQ")
    assert dead.body == b"1"
