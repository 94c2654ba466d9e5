"""The consumer loop: a step accepts the last message, and gets the next one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction

from broker.client import Delivery, Reject, consumer, put, put_many
from broker.errors import LockLost, NoSuchQueue
from broker.errors.units_of_work import BackedOut, TransactionLeftOpen
from broker.models import Address, Claim, Event, Kind, Queue, Ready
from broker.models import UnitOfWork as UnitRow
from broker.settlement import settle
from tests.broker.consuming import Failed, accepted, backouts, drained, is_clean
from tests.broker.elsewhere import Elsewhere
from tests.make import make_messages, make_queue, make_setting


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


def test_a_step_accepts_the_last_message() -> None:
    put_many(make_messages(3))
    with consumer("orders", timeout_s=0) as deliveries:
        for n, _ in enumerate(deliveries):
            assert len(accepted()) == n
            assert Claim.objects.count() == 1
    assert len(accepted()) == 3
    assert is_clean()


@pytest.mark.parametrize("batch", [1, 2])
def test_messages_come_by_priority_and_none_is_left(batch: int) -> None:
    priorities = [4, 9, 0, 4, 7]
    for priority in priorities:
        put("orders", str(priority).encode(), priority=priority)
    assert drained(batch=batch) == [b"9", b"7", b"4", b"4", b"0"]
    assert len(accepted()) == 5
    assert is_clean()


def test_a_selector_leaves_the_others() -> None:
    for region in ("north", "south", "north"):
        put("orders", region.encode(), properties={"region": region})
    assert drained(selector="region = 'north'") == [b"north"] * 2
    assert drained() == [b"south"]


def test_an_exception_backs_the_last_message_out_as_its_error() -> None:
    put_many(make_messages(3))
    with pytest.raises(Failed), consumer("orders") as deliveries:
        for delivery in deliveries:
            if delivery.body == b"2":
                raise Failed("no such customer")
    (event,) = Event.objects.filter(kind=Kind.BACK_OUT)
    assert event.detail is not None
    assert "Failed: no such customer" in event.detail["error"]
    assert "Failed" in event.detail["stack"]
    assert backouts() == [1, 0]
    assert is_clean()


def test_a_rejection_is_no_backout() -> None:
    dead = make_queue("DLQ")
    make_setting(dead_letter_address="DLQ")
    put_many(make_messages(2))
    with pytest.raises(Reject), consumer("orders") as deliveries:
        for _ in deliveries:
            raise Reject("no such customer")
    assert Ready.objects.filter(queue_id=dead.pk).count() == 1
    assert backouts() == [0, 0]


@pytest.mark.parametrize("batch", [1, 3])
def test_what_is_backed_out_in_the_loop_does_not_end_it(batch: int) -> None:
    put_many(make_messages(3))
    got: list[tuple[bytes, int]] = []
    with consumer("orders", batch=batch, timeout_s=0) as deliveries:
        for delivery in deliveries:
            got.append((delivery.body, delivery.backout_count))
            if got == [(b"1", 0)]:
                deliveries.put("orders", b"never sent")
                deliveries.back_out(Failed("once"))
    assert got == [(b"1", 0), (b"1", 1), (b"2", 0), (b"3", 0)]
    assert is_clean()


def test_a_put_after_a_backout_is_of_the_next_unit_of_work() -> None:
    make_queue("answers")
    put("orders")
    with consumer("orders", timeout_s=0) as deliveries:
        for delivery in deliveries:
            if not delivery.backout_count:
                deliveries.back_out(Failed("once"))
                deliveries.put("answers", b"sorry")
    with consumer("answers", timeout_s=0) as answers:
        assert [delivery.body for delivery in answers] == [b"sorry"]


def leave_by_break() -> None:
    with consumer("orders", batch=2) as deliveries:
        for _ in deliveries:
            break


def leave_by_return() -> None:
    def first() -> Delivery:
        with consumer("orders", batch=2) as deliveries:
            for delivery in deliveries:
                return delivery
        raise AssertionError

    assert first().body == b"1"


@pytest.mark.parametrize("leave", [leave_by_break, leave_by_return])
def test_who_leaves_accepts_what_was_given_and_no_more(
    leave: Callable[[], None],
) -> None:
    put_many(make_messages(2))
    leave()
    assert len(accepted()) == 1
    assert is_clean()
    assert drained() == [b"2"]
    assert not Event.objects.filter(kind=Kind.BACK_OUT)


def test_a_batch_is_one_unit_of_work() -> None:
    put_many(make_messages(5))
    with consumer("orders", batch=2, timeout_s=0) as deliveries:
        units = [(delivery.uow, len(accepted())) for delivery in deliveries]
    assert [done for _, done in units] == [0, 0, 2, 2, 4]
    assert len({uow for uow, _ in units}) == 3
    assert is_clean()


def test_an_exception_in_a_batch_counts_for_what_was_given() -> None:
    put_many(make_messages(4))
    with pytest.raises(Failed), consumer("orders", batch=4) as deliveries:
        for delivery in deliveries:
            if delivery.body == b"2":
                raise Failed
    assert backouts() == [1, 1, 0, 0]
    assert is_clean()
    assert drained() == [b"1", b"2", b"3", b"4"]


def test_a_loop_that_was_left_may_be_gone_on_with() -> None:
    put_many(make_messages(4))
    with consumer("orders", batch=2, timeout_s=0) as deliveries:
        for delivery in deliveries:
            if delivery.body == b"1":
                break
        assert accepted() == []
        assert [delivery.body for delivery in deliveries] == [b"2", b"3", b"4"]
    assert len(accepted()) == 4


@pytest.mark.parametrize("batch", [0, -1])
def test_a_batch_has_a_message(batch: int) -> None:
    with pytest.raises(ValueError, match="one message"):
        consumer("orders", batch=batch)


def test_a_queue_that_is_not_there() -> None:
    with pytest.raises(NoSuchQueue):
        consumer("odrers")


def test_without_its_block_the_loop_takes_nothing() -> None:
    put("orders")
    with pytest.raises(ValueError, match="needs its block"):
        for _ in consumer("orders"):
            raise AssertionError
    with consumer("orders", timeout_s=0) as deliveries:
        pass
    with pytest.raises(ValueError, match="needs its block"):
        next(iter(deliveries))
    assert backouts() == [0]


def test_puts_are_sent_with_the_accept_or_not_at_all() -> None:
    make_queue("answers")
    put_many(make_messages(3))
    with pytest.raises(Failed), consumer("orders") as deliveries:
        for delivery in deliveries:
            deliveries.put("answers", delivery.body)
            if delivery.body == b"3":
                raise Failed
    with consumer("answers", timeout_s=0) as answers:
        assert [delivery.body for delivery in answers] == [b"1", b"2"]
    assert backouts() == [1]
    assert is_clean()


def test_a_put_after_the_last_message_is_sent_at_the_end() -> None:
    with consumer("orders", timeout_s=0) as deliveries:
        assert list(deliveries) == []
        deliveries.put("orders", b"all done")
    assert drained() == [b"all done"]


def test_a_commit_that_fails_ends_the_loop_and_gets_nothing_more() -> None:
    put_many(make_messages(2))
    with pytest.raises(BackedOut), consumer("orders") as deliveries:
        for _ in deliveries:
            deliveries.put("nowhere")
    assert backouts() == [1, 0]
    assert is_clean()


@pytest.mark.spec("UOW-7")
@pytest.mark.parametrize("batch", [1, 2])
def test_a_step_that_comes_too_late_accepts_and_gets_nothing(
    elsewhere: Elsewhere, batch: int
) -> None:
    put_many(make_messages(2 * batch))
    with consumer("orders", batch=batch, timeout_s=0) as deliveries:
        steps = iter(deliveries)
        held = [next(steps).body for _ in range(batch)]
        assert held == [b"1", b"2"][:batch]
        elsewhere(UnitRow.objects.update, deadline="2026-01-01T00:00Z")
        elsewhere(settle.back_out_overdue, limit=9)
        with pytest.raises(LockLost):
            next(steps)
        assert backouts() == [1] * batch + [0] * batch
        assert [one.backout_count for one in deliveries] == [1] * batch + [0] * batch
    assert is_clean()


def test_a_body_that_leaves_a_transaction_open_has_failed() -> None:
    put_many(make_messages(2))
    with pytest.raises(TransactionLeftOpen), consumer("orders") as deliveries:
        for _ in deliveries:
            transaction.set_autocommit(False)
            Address.objects.update(name="changed")
    assert backouts() == [1, 0]
    assert not Address.objects.filter(name="changed")
    assert is_clean()
