"""What becomes of deliveries when a consumer, a session or a process ends."""

from __future__ import annotations

import pytest

from broker.client import SessionMode
from broker.models import Claim, DeadLetter, Queue
from broker.models import UnitOfWork as UnitRow
from broker.settlement.settle import back_out_overdue
from tests.broker.elsewhere import kill, process, said
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    TRANSACTED,
    client,
    consumer,
    counts,
    put_orders,
    received,
)
from tests.console.until import until
from tests.make import NOON, make_queue, make_setting, seconds

KEEPING = [CLIENT, TRANSACTED]  # modes in which a received message is not accepted yet

HOLDER = """
from broker.client import SessionMode, connect
session = connect().session(SessionMode({mode!r}), prefetch={prefetch})
receiving = session.consumer("orders")
if {mark}:
    receiving.receive_nowait(mark=True)
while True:
    message = receiving.receive_nowait()
    print(message.body.decode() if message else "-", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("DLQ")
    return make_queue("orders")


@pytest.mark.spec("UOW-4")
def test_ninety_nine_unread_messages_are_given_back_uncounted(orders: Queue) -> None:
    put_orders(100)
    receiving = consumer(CLIENT, prefetch=100)
    assert received(receiving, 1) == [b"1"]
    receiving.close()
    back = counts()
    assert len(back) == 99
    assert {count for _, count in back} == {0}
    receiving.session.acknowledge()
    assert len(counts()) == 99


@pytest.mark.spec("UOW-4")
@pytest.mark.parametrize("mode", list(SessionMode))
def test_unread_messages_do_not_count_when_a_session_closes(
    orders: Queue, mode: SessionMode
) -> None:
    put_orders(3)
    receiving = consumer(mode, prefetch=3)
    assert received(receiving, 1) == [b"1"]
    receiving.session.close()
    first = [] if mode is AUTO else [(b"1", 1)]
    assert counts() == [*first, (b"2", 0), (b"3", 0)]
    assert not Claim.objects.exists()
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UOW-4")
def test_a_message_that_expires_unread_is_never_handed_out(orders: Queue) -> None:
    put_orders(1)
    put_orders(1, expires_at=NOON + seconds(10))
    put_orders(1)
    connection = client()
    receiving = connection.session(TRANSACTED, prefetch=9).consumer("orders")
    assert len(received(receiving, 1)) == 1
    connection.now = NOON + seconds(10)
    assert len(received(receiving)) == 1
    receiving.session.rollback()
    assert [count for _, count in counts()] == [1, 0, 1]  # by noon's clock, all three


@pytest.mark.spec("UOW-5", "UNIFY-8")
@pytest.mark.parametrize("mode", KEEPING)
def test_a_received_message_counts_when_its_session_closes(
    orders: Queue, mode: SessionMode
) -> None:
    put_orders(2)
    with client() as connection:
        assert received(connection.session(mode).consumer("orders"), 1) == [b"1"]
    assert counts() == [(b"1", 1), (b"2", 0)]


@pytest.mark.spec("UOW-5", "UNIFY-8")
@pytest.mark.parametrize("mode", KEEPING)
def test_a_received_message_need_not_count(orders: Queue, mode: SessionMode) -> None:
    put_orders(3)
    receiving = consumer(mode, count_unacked_on_close=False)
    assert received(receiving, 2) == [b"1", b"2"]
    receiving.session.close()
    assert counts() == [(b"1", 0), (b"2", 0), (b"3", 0)]
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UNIFY-8")
@pytest.mark.parametrize("counted", [True, False])
def test_a_mere_close_waits_for_no_delay(orders: Queue, counted: bool) -> None:
    make_setting("orders", redelivery_delay_ms=60_000)
    put_orders(1)
    receiving = consumer(CLIENT, count_unacked_on_close=counted)
    assert received(receiving) == [b"1"]
    receiving.session.close()
    assert counts() == [(b"1", int(counted))]


@pytest.mark.spec("UNIFY-8", "UNIFY-4")
def test_a_counted_close_may_be_the_last_attempt(orders: Queue) -> None:
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLQ")
    put_orders(1)
    receiving = consumer(CLIENT)
    assert received(receiving) == [b"1"]
    receiving.session.close()
    assert counts("DLQ") == [(b"1", 0)]


@pytest.mark.spec("UOW-5")
def test_closing_a_consumer_leaves_what_was_received_to_its_session(
    orders: Queue,
) -> None:
    put_orders(1)
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"1"]
    receiving.close()
    receiving.close()
    receiving.session.commit()
    assert counts() == []


@pytest.mark.spec("UOW-1")
def test_closing_a_transacted_session_sends_nothing(orders: Queue) -> None:
    answers = make_queue("answers")
    with client() as connection, connection.session(TRANSACTED) as session:
        session.producer("answers").send(b"never")
    assert answers.pk
    assert counts("answers") == []


def test_what_a_block_raises_is_the_error_that_operators_read(orders: Queue) -> None:
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLQ")
    put_orders(1)
    with (
        pytest.raises(RuntimeError),
        client() as connection,
        connection.session(TRANSACTED) as session,
        session.consumer("orders") as receiving,
    ):
        receiving.receive_nowait()
        raise RuntimeError("no such customer 17")
    letter = consumer(AUTO, "DLQ").receive_nowait()
    assert letter is not None
    assert DeadLetter.objects.get().error == "RuntimeError: no such customer 17"


@pytest.mark.spec("UOW-4", "UOW-2")
@pytest.mark.parametrize("mode", KEEPING)
@pytest.mark.parametrize("prefetch", [1, 3])
def test_a_killed_process_counts_all_that_it_had_taken(
    transactional_db: None, mode: SessionMode, prefetch: int
) -> None:
    make_queue("orders")
    put_orders(4)
    script = HOLDER.format(mode=mode.value, prefetch=prefetch, mark=False)
    with process(script) as other:
        assert said(other) == "1"
        kill(other)
    until(lambda: back_out_overdue(limit=10))
    taken = [(str(n).encode(), 1) for n in range(1, prefetch + 1)]
    untouched = [(str(n).encode(), 0) for n in range(prefetch + 1, 5)]
    assert counts() == taken + untouched
    message = consumer().receive_nowait()
    assert message is not None
    assert message.delivery_count == 2


@pytest.mark.spec("SKIP-6", "UOW-4")
def test_no_mark_outlives_its_process(transactional_db: None) -> None:
    make_queue("orders")
    put_orders(3)
    script = HOLDER.format(mode="transacted", prefetch=1, mark=True)
    with process(script) as other:
        assert said(other) == "2"
        kill(other)
    until(lambda: back_out_overdue(limit=10))
    assert counts() == [(b"1", 1), (b"2", 1), (b"3", 0)]
