"""Marks that let a message skip a rollback, through a transacted session."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from broker.client import Consumer, SessionMode
from broker.errors import LockLost
from broker.errors.queues import NotAuthorized
from broker.errors.units_of_work import (
    BackedOut,
    MarkNotPossible,
    SecondMark,
    WrongOptions,
)
from broker.models import Claim, Queue, UnitOfWork
from broker.settlement.outcomes import BackOut
from broker.settlement.settle import back_out_overdue, end_if_held
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    TRANSACTED,
    client,
    consumer,
    counts,
    put_again,
    put_orders,
    received,
)
from tests.make import (
    NOON,
    make_authority,
    make_queue,
    make_setting,
    make_user,
    minutes,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _queues() -> None:
    for name in ("orders", "notices", "DLQ", "BOQ"):
        make_queue(name)


def marked(count: int = 3, *, prefetch: int = 1) -> Consumer:
    """A consumer whose session has all of that many messages; the first is marked."""
    put_orders(count)
    receiving = consumer(TRANSACTED, prefetch=prefetch)
    message = receiving.receive_nowait(mark=True)
    assert message is not None
    assert message.body == b"1"
    assert len(received(receiving, count - 1)) == count - 1
    return receiving


def skipped(count: int = 3) -> Consumer:
    """The same after a rollback: the session is in its second unit of work."""
    receiving = marked(count)
    receiving.session.rollback("no such customer")
    return receiving


@pytest.mark.spec("SKIP-8", "SKIP-1", "SKIP-3", "SKIP-5")
@pytest.mark.parametrize("step", [4, 9, 10])
def test_the_ten_steps(step: int) -> None:
    put_orders(3)
    receiving = consumer(TRANSACTED)  # 1
    session = receiving.session
    assert receiving.receive_nowait(mark=True) is not None  # 2
    session.producer("notices").send(b"update")  # 3
    assert received(receiving, 1) == [b"2"]
    if step == 4:
        session.commit()
        assert counts() == [(b"3", 0)]
        assert counts("notices") == [(b"update", 0)]
        return

    session.rollback()  # 5
    assert counts("notices") == []  # 6
    assert counts() == [(b"2", 1), (b"3", 0)]  # 7: the first is in nobody's reach
    assert Claim.objects.get().backout_counts == [0]
    session.producer("notices").send(b"could not")  # 8
    if step == 9:
        session.commit()
        assert counts() == [(b"2", 1), (b"3", 0)]
        assert counts("notices") == [(b"could not", 0)]
    else:
        session.rollback()
        assert counts() == [(b"1", 1), (b"2", 1), (b"3", 0)]
        assert counts("notices") == []


@pytest.mark.spec("SKIP-2")
@pytest.mark.parametrize("mode", [AUTO, CLIENT])
def test_a_mark_needs_a_transacted_session(mode: SessionMode) -> None:
    put_orders(1)
    with pytest.raises(WrongOptions) as caught:
        consumer(mode).receive_nowait(mark=True)
    assert caught.value.reason == 2046
    assert counts() == [(b"1", 0)]


@pytest.mark.spec("SKIP-4")
@pytest.mark.parametrize("prefetch", [1, 9])
def test_a_second_mark_gets_nothing_and_the_first_holds(prefetch: int) -> None:
    receiving = marked(2, prefetch=prefetch)
    put_orders(1)
    with pytest.raises(SecondMark) as caught:
        receiving.receive_nowait(mark=True)
    assert caught.value.reason == 2062
    receiving.session.rollback()
    assert counts() == [(b"2", 1), (b"1", 0)]


@pytest.mark.spec("SKIP-4")
def test_a_marked_receive_that_finds_nothing_uses_up_no_mark() -> None:
    receiving = consumer(TRANSACTED)
    assert receiving.receive_nowait(mark=True) is None
    put_orders(1)
    assert receiving.receive_nowait(mark=True) is not None
    receiving.session.rollback()
    assert counts() == []


@pytest.mark.spec("SKIP-4", "POISON-8")
def test_a_poison_message_uses_up_no_mark() -> None:
    Queue.objects.update(backout_threshold=2, backout_queue="BOQ")
    put_again(2)
    put_orders(1)
    receiving = consumer(TRANSACTED)
    message = receiving.receive_nowait(mark=True)
    assert message is not None
    assert message.body == b"1"
    receiving.session.rollback()
    assert counts() == [(b"poison", 3)]  # the poison is given back, the mark holds 1
    receiving.session.commit()
    assert counts() == [(b"poison", 3)]


@pytest.mark.spec("SKIP-4", "POISON-12")
def test_a_message_that_stays_uses_up_no_mark() -> None:
    put_again(1)
    user = make_user(granted=("get",))
    receiving = client(user=user).session(TRANSACTED).consumer("orders")
    with pytest.raises(NotAuthorized):
        receiving.receive_nowait(mark=True)
    make_authority(user, "inquire", pattern="orders")
    assert receiving.receive_nowait(mark=True) is not None


@pytest.mark.spec("SKIP-4")
@pytest.mark.parametrize("prefetch", [2, 9])
def test_the_next_message_can_be_marked_though_it_was_taken_ahead(
    prefetch: int,
) -> None:
    put_orders(3)
    receiving = consumer(TRANSACTED, prefetch=prefetch)
    assert received(receiving, 1) == [b"1"]
    message = receiving.receive_nowait(mark=True)
    assert message is not None
    assert message.body == b"2"
    receiving.session.rollback()
    assert counts() == [(b"1", 1), (b"3", 0)]


@pytest.mark.spec("SKIP-5")
def test_in_the_second_unit_of_work_another_message_can_be_marked() -> None:
    receiving = skipped(2)
    message = receiving.receive_nowait(mark=True)
    assert message is not None
    assert message.body == b"2"
    receiving.session.rollback()
    assert counts() == [(b"1", 1)]  # once; and the second is skipped now
    receiving.session.commit()
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("SKIP-5")
def test_the_second_unit_of_work_may_end_by_a_close() -> None:
    skipped(1).session.close()
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("SKIP-5")
def test_the_second_unit_of_work_may_end_by_its_deadline() -> None:
    receiving = skipped(1)
    assert counts() == []
    back_out_overdue(limit=10, now=NOON + minutes(6))
    assert counts() == [(b"1", 1)]
    with pytest.raises(LockLost) as caught:
        receiving.session.commit()
    assert caught.value.reason == 2003
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("SKIP-5")
def test_the_second_unit_of_work_may_end_by_a_commit_that_fails() -> None:
    make_queue("full", max_depth=0)
    receiving = skipped(1)
    receiving.session.producer("full").send(b"could not")
    with pytest.raises(BackedOut):
        receiving.session.commit()
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("SKIP-5", "SKIP-6")
def test_an_operator_s_backout_knows_no_mark() -> None:
    for holding in (marked, skipped):
        holding(1)
        (uow,) = UnitOfWork.objects.values_list("pk", flat=True)
        end_if_held(uow, BackOut("ended by an operator"), now=NOON)
        assert counts() == [(b"1", 1)]
        assert received(consumer(AUTO)) == [b"1"]


@pytest.mark.spec("SKIP-6")
def test_a_commit_that_fails_knows_no_mark() -> None:
    make_queue("full", max_depth=0)
    receiving = marked()
    receiving.session.producer("full").send(b"too much")
    with pytest.raises(BackedOut):
        receiving.session.commit()
    assert counts() == [(b"1", 1), (b"2", 1), (b"3", 1)]


@pytest.mark.spec("SKIP-6")
def test_a_deadline_knows_no_mark() -> None:
    receiving = marked()
    back_out_overdue(limit=10, now=NOON + minutes(6))
    receiving.session.rollback()  # too late to ask
    assert counts() == [(b"1", 1), (b"2", 1), (b"3", 1)]


@pytest.mark.spec("SKIP-6")
@pytest.mark.parametrize("counted", [True, False])
def test_a_close_knows_no_mark(counted: bool) -> None:
    put_orders(2)
    receiving = consumer(TRANSACTED, count_unacked_on_close=counted)
    assert receiving.receive_nowait(mark=True) is not None
    receiving.session.close()
    assert counts() == [(b"1", int(counted)), (b"2", 0)]
    assert not UnitOfWork.objects.exists()


@pytest.mark.spec("SKIP-7")
def test_the_switch_turns_marks_off(settings: Settings) -> None:
    settings.BROKER_SKIP_BACKOUT = False
    put_orders(1)
    with pytest.raises(MarkNotPossible) as caught:
        consumer(TRANSACTED).receive_nowait(mark=True)
    assert caught.value.reason == 2274
    assert counts() == [(b"1", 0)]


@pytest.mark.spec("SKIP-9", "UNIFY-13")
def test_a_skipped_message_is_tested_and_delayed_only_when_it_comes_back() -> None:
    make_setting(
        "orders",
        redelivery_delay_ms=60_000,
        max_delivery_attempts=2,
        dead_letter_address="DLQ",
    )
    connection = client()
    receiving = connection.session(TRANSACTED).consumer("orders")
    put_orders(1)
    for minute in (0, 2):
        connection.now = NOON + minutes(minute)
        assert receiving.receive_nowait(mark=True) is not None
        receiving.session.rollback()  # neither counted nor delayed
        assert Claim.objects.exists()
        assert counts("DLQ") == []
        receiving.session.rollback()
    assert counts("DLQ") == [(b"1", 0)]
