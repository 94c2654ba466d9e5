"""What ends a delivery well: AUTO, CLIENT and TRANSACTED sessions."""

from __future__ import annotations

import pytest

from broker.client import SessionMode
from broker.errors import LockLost
from broker.errors.units_of_work import BackedOut
from broker.models import Queue
from broker.models import UnitOfWork as UnitRow
from broker.settlement.settle import back_out_overdue
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    MODES,
    TRANSACTED,
    client,
    consumer,
    counts,
    depth,
    put_orders,
    received,
    session,
)
from tests.make import NOON, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def orders() -> Queue:
    make_queue("answers")
    return make_queue("orders")


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize("prefetch", [1, 5])
def test_auto_accepts_a_message_when_the_receive_returns(prefetch: int) -> None:
    put_orders(2)
    receiving = consumer(AUTO, prefetch=prefetch)
    message = receiving.receive_nowait()
    assert message is not None
    assert message.body == b"1"
    receiving.session.recover()  # nothing of it is ours
    assert counts() == [(b"2", 0)]


@pytest.mark.spec("UOW-6")
def test_auto_leaves_no_unit_of_work_behind() -> None:
    put_orders(3)
    assert received(consumer(AUTO, prefetch=2)) == [b"1", b"2", b"3"]
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize("prefetch", [1, 2, 9])
def test_client_acknowledges_all_that_was_delivered_so_far(prefetch: int) -> None:
    put_orders(4)
    receiving = consumer(CLIENT, prefetch=prefetch)
    assert received(receiving, 3) == [b"1", b"2", b"3"]
    receiving.session.acknowledge()
    assert counts() == [(b"4", 0)]


@pytest.mark.spec("UOW-6", "UNIFY-9", "UOW-2")
@pytest.mark.parametrize("prefetch", [1, 2, 9])
def test_recover_redelivers_all_that_was_not_acknowledged_in_order(
    prefetch: int,
) -> None:
    put_orders(5)
    receiving = consumer(CLIENT, prefetch=prefetch)
    assert received(receiving, 1) == [b"1"]
    receiving.session.acknowledge()
    assert received(receiving, 2) == [b"2", b"3"]
    receiving.session.recover()
    assert counts() == [(b"2", 1), (b"3", 1), (b"4", 0), (b"5", 0)]
    message = receiving.receive_nowait()
    assert message is not None
    assert (message.body, message.delivery_count) == (b"2", 2)
    assert message.redelivered


@pytest.mark.spec("UOW-6")
def test_transacted_ignores_acknowledge() -> None:
    put_orders(1)
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"1"]
    receiving.session.acknowledge()
    receiving.session.rollback()
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize(("mode", "left"), [(CLIENT, [b"4"]), (TRANSACTED, [])])
def test_a_message_acknowledges_all_that_its_session_delivered(
    mode: SessionMode, left: list[bytes]
) -> None:
    put_orders(4)
    receiving = consumer(mode, prefetch=9)
    messages = [receiving.receive_nowait() for _ in range(3)]
    assert messages[1] is not None
    messages[1].acknowledge()
    assert [body for body, _ in counts()] == left
    receiving.session.close()
    assert len(counts()) == (1 if mode is CLIENT else 4)


@pytest.mark.spec("UOW-6")
def test_auto_ignores_acknowledge() -> None:
    put_orders(2)
    receiving = consumer(AUTO, prefetch=2)
    assert received(receiving, 1) == [b"1"]
    receiving.session.acknowledge()
    assert received(receiving) == [b"2"]


@pytest.mark.spec("UOW-1", "UOW-6")
@pytest.mark.parametrize("prefetch", [1, 9])
def test_a_commit_accepts_and_sends_and_begins_anew(prefetch: int) -> None:
    put_orders(3)
    receiving = consumer(TRANSACTED, prefetch=prefetch)
    answers = receiving.session.producer("answers")
    for expected in (b"1", b"2"):
        assert received(receiving, 1) == [expected]
        answers.send(b"for " + expected)
        assert counts("answers") == []
        receiving.session.commit()
        assert counts("answers") == [(b"for " + expected, 0)]
        assert received(consumer(AUTO, "answers")) == [b"for " + expected]
    assert counts() == [(b"3", 0)]


@pytest.mark.spec("UOW-1", "UOW-2", "UOW-3")
def test_a_rollback_gives_back_in_order_and_sends_nothing() -> None:
    put_orders(3)
    receiving = consumer(TRANSACTED)
    receiving.session.producer("answers").send(b"never")
    assert received(receiving, 2) == [b"1", b"2"]
    receiving.session.rollback("no such customer")
    receiving.session.commit()
    assert counts() == [(b"1", 1), (b"2", 1), (b"3", 0)]
    assert counts("answers") == []


@pytest.mark.spec("UOW-2", "UNIFY-1")
def test_each_rollback_adds_one_to_all_that_is_counted() -> None:
    put_orders(1)
    receiving = consumer(TRANSACTED)
    seen = []
    for _ in range(4):
        message = receiving.receive_nowait()
        assert message is not None
        seen.append((message.backout_count, message.delivery_count))
        assert message.descriptor.backout_count == message.backout_count
        assert message.redelivered == (message.backout_count > 0)
        receiving.session.rollback()
    assert seen == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.spec("UOW-8")
def test_a_commit_that_fails_says_so_and_is_a_system_backout(orders: Queue) -> None:
    put_orders(1)
    full = make_queue("full", max_depth=0)
    receiving = consumer(TRANSACTED)
    assert receiving.receive_nowait(mark=True) is not None
    receiving.session.producer("full").send(b"too much")
    with pytest.raises(BackedOut) as caught:
        receiving.session.commit()
    assert caught.value.reason == 2003
    assert counts() == [(b"1", 1)]  # the mark has not held it back
    assert full.pk
    assert received(receiving) == [b"1"]  # in the next unit of work
    receiving.session.commit()
    assert depth(orders).total == 0


@pytest.mark.spec("UOW-9")
def test_ten_cycles_whose_last_commits_are_ten_attempts_and_one_acceptance(
    orders: Queue,
) -> None:
    put_orders(1)
    receiving = consumer(TRANSACTED)
    for cycle in range(10):
        assert received(receiving) == [b"1"]
        assert depth(orders).accept_attempts == cycle
        assert depth(orders).accepted == 0
        if cycle < 9:
            receiving.session.rollback()
    receiving.session.commit()
    assert (depth(orders).accepted, depth(orders).accept_attempts) == (1, 10)


@pytest.mark.spec("UOW-9")
def test_what_was_given_back_unread_is_no_attempt(orders: Queue) -> None:
    put_orders(3)
    receiving = consumer(AUTO, prefetch=3)
    assert received(receiving, 1) == [b"1"]
    receiving.close()
    assert (depth(orders).accepted, depth(orders).accept_attempts) == (1, 1)


@pytest.mark.spec("UOW-9")
def test_a_dead_letter_is_an_attempt_and_no_acceptance(orders: Queue) -> None:
    make_queue("DLQ")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLQ")
    put_orders(1)
    receiving = consumer(TRANSACTED)
    for _ in range(2):
        assert received(receiving) == [b"1"]
        receiving.session.rollback()
    assert (depth(orders).accepted, depth(orders).accept_attempts) == (0, 2)


@pytest.mark.spec("UOW-7", "UOW-8")
@pytest.mark.parametrize("mode", [CLIENT, TRANSACTED])
def test_who_took_too_long_is_told_at_the_next_get(mode: SessionMode) -> None:
    put_orders(1)
    connection = client()
    receiving = connection.session(mode).consumer("orders")
    assert received(receiving) == [b"1"]
    back_out_overdue(limit=10, now=NOON + minutes(6))
    other = consumer(AUTO)
    assert received(other) == [b"1"]
    with pytest.raises(LockLost) as caught:
        receiving.receive_nowait()
    assert caught.value.reason == 2003
    assert received(receiving) == []  # the next unit of work has begun


@pytest.mark.spec("UOW-7")
def test_who_took_too_long_is_told_at_the_acknowledgement() -> None:
    put_orders(1)
    receiving = consumer(CLIENT)
    assert received(receiving) == [b"1"]
    back_out_overdue(limit=10, now=NOON + minutes(6))
    with pytest.raises(LockLost):
        receiving.session.acknowledge()
    assert counts() == [(b"1", 1)]


@pytest.mark.spec("UOW-7")
def test_what_was_taken_ahead_and_lost_is_taken_again() -> None:
    put_orders(3)
    receiving = consumer(AUTO, prefetch=3)
    assert received(receiving, 1) == [b"1"]
    back_out_overdue(limit=10, now=NOON + minutes(6))
    assert received(receiving) == [b"2", b"3"]


@pytest.mark.spec("UOW-7")
@pytest.mark.parametrize("mode", [CLIENT, TRANSACTED])
def test_what_another_consumer_took_ahead_is_lost_too(mode: SessionMode) -> None:
    put_orders(2)
    one = session(mode, prefetch=2)
    ahead, told = one.consumer("orders"), one.consumer("answers")
    assert received(ahead, 1) == [b"1"]
    back_out_overdue(limit=10, now=NOON + minutes(6))
    with pytest.raises(LockLost):
        told.receive_nowait()
    message = ahead.receive_nowait()
    assert message is not None
    assert (message.body, message.backout_count) == (b"1", 1)


@pytest.mark.spec("UNIFY-4", "UNIFY-12")
def test_redelivery_waits_for_its_delay_and_others_overtake() -> None:
    make_setting("orders", redelivery_delay_ms=60_000)
    put_orders(2)
    connection = client()
    receiving = connection.session(TRANSACTED).consumer("orders")
    assert received(receiving, 1) == [b"1"]
    receiving.session.rollback()
    assert received(receiving) == [b"2"]
    connection.now = NOON + seconds(61)
    assert received(receiving) == [b"1"]


@pytest.mark.spec("UNIFY-12")
@pytest.mark.parametrize("prefetch", [1, 5])
def test_without_a_delay_the_message_at_the_head_comes_first_again(
    prefetch: int,
) -> None:
    put_orders(3)
    receiving = consumer(TRANSACTED, prefetch=prefetch)
    assert received(receiving, 1) == [b"1"]
    receiving.session.rollback()
    assert received(receiving) == [b"1", b"2", b"3"]


@pytest.mark.parametrize("mode", MODES)
def test_a_session_has_the_ends_of_its_mode_only(mode: SessionMode) -> None:
    one = session(mode)
    wrong = [one.recover] if mode is TRANSACTED else [one.commit, one.rollback]
    for end in wrong:
        with pytest.raises(ValueError, match="no such end"):
            end()


def test_a_closed_session_refuses_everything() -> None:
    receiving = consumer(AUTO)
    receiving.session.close()
    receiving.session.close()
    with pytest.raises(ValueError, match="closed"):
        receiving.receive_nowait()
    with pytest.raises(ValueError, match="closed"):
        receiving.session.acknowledge()


def test_a_closed_connection_has_no_new_sessions() -> None:
    with client() as connection:
        one = connection.session()
    assert one.closed
    assert connection.sessions == []
    with pytest.raises(ValueError, match="closed"):
        connection.session()
