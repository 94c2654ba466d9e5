"""What queues and units of work do not take."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from broker.errors import BrokerError, NoSuchAddress
from broker.errors.mq_codes import Reason
from broker.errors.queues import MessageTooBigForQueue, PutInhibited, QueueFull
from broker.errors.units_of_work import TooMuchUncommitted
from broker.models import Message, Queue, RoutingType
from broker.queueing import journal
from broker.queueing.limits import refusal
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import expiry
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Background, Elsewhere
from tests.make import NOON, make_messages, make_queue, minutes, seconds


def depth(queue: Queue) -> int:
    return journal.depths()[queue.pk].total if queue.pk in journal.depths() else 0


@pytest.mark.spec("MD-6")
@pytest.mark.parametrize(
    ("limits", "error", "reason"),
    [
        ({"max_depth": 0}, QueueFull, 2053),
        ({"put_inhibited": True}, PutInhibited, 2051),
        ({"max_message_bytes": 3}, MessageTooBigForQueue, 2030),
    ],
)
def test_a_queue_refuses_what_it_does_not_take_and_nothing_is_stored(
    db: None, limits: dict[str, Any], error: type[BrokerError], reason: int
) -> None:
    orders = make_queue(**limits)

    with pytest.raises(error) as refused:
        put("orders", b"1234")

    assert refused.value.reason == reason
    assert not Message.objects.exists()
    assert depth(orders) == 0
    assert isinstance(refusal(orders, [4]), error)


def test_a_queue_takes_messages_up_to_its_depth_and_again_when_some_left(
    db: None,
) -> None:
    orders = make_queue(max_depth=3)
    put_many(make_messages(3))
    with pytest.raises(QueueFull):
        put("orders")

    with unit_of_work() as work:
        work.get("orders", 2)
    put_many(make_messages(2))

    with pytest.raises(QueueFull):
        put("orders")
    assert depth(orders) == 3


def test_messages_are_put_together_or_not_at_all(db: None) -> None:
    orders = make_queue(max_depth=3)

    with pytest.raises(QueueFull):
        put_many(make_messages(4))
    assert depth(orders) == 0

    put_many(make_messages(3))
    assert depth(orders) == 3


def test_a_full_queue_is_full_wherever_its_entries_are(db: None) -> None:
    """Got and not committed, delayed, or expired and still there."""
    make_queue(max_depth=3)
    put("orders", b"1", now=NOON)
    put("orders", b"2", now=NOON, deliver_at=NOON + minutes(1))
    put("orders", b"3", now=NOON, expires_at=NOON + seconds(1))
    work = UnitOfWork(now=NOON)
    work.get("orders")

    with pytest.raises(QueueFull):
        put("orders", now=NOON + seconds(2))

    expiry.expire(limit=9, now=NOON + seconds(2))
    put("orders", now=NOON + seconds(2))


def test_headers_count_for_the_size_of_a_message(db: None) -> None:
    make_queue(max_message_bytes=8)

    put("orders", b"1234", headers=b"1234")
    with pytest.raises(MessageTooBigForQueue) as refused:
        put("orders", b"1234", headers=b"12345")

    assert (refused.value.size_bytes, refused.value.limit_bytes) == (9, 8)


def test_an_inhibited_queue_gives_what_it_has(db: None) -> None:
    make_queue()
    put("orders", b"1")
    Queue.objects.update(put_inhibited=True)

    with unit_of_work() as work:
        assert [d.body for d in work.get("orders")] == [b"1"]


def test_what_a_queue_gives_back_is_not_refused(db: None) -> None:
    """A backout returns an entry to a queue that takes nothing new."""
    orders = make_queue(max_depth=1)
    put("orders")
    work = UnitOfWork()
    work.get("orders")
    Queue.objects.update(put_inhibited=True)

    work.back_out(BackOut("again", spread=0))

    assert depth(orders) == 1


def test_one_full_queue_of_an_address_refuses_for_all(db: None) -> None:
    rest: dict[str, Any] = {"address": "news", "routing_type": RoutingType.MULTICAST}
    small, large = make_queue("small", max_depth=1, **rest), make_queue("large", **rest)
    put("news")

    with pytest.raises(QueueFull) as refused:
        put("news")

    assert refused.value.queue == "small"
    assert depth(small) == depth(large) == 1


def test_a_message_that_is_not_for_a_full_queue_passes_it_by(db: None) -> None:
    rest: dict[str, Any] = {"address": "news", "max_depth": 0}
    multicast = RoutingType.MULTICAST
    make_queue("red", selector="colour = 'red'", routing_type=multicast, **rest)
    make_queue("one of", **rest)
    takes_all = make_queue("all", address="news", routing_type=multicast)

    put("news", properties={"colour": "blue"}, routing_type=multicast)
    with pytest.raises(QueueFull):
        put("news", properties={"colour": "red"}, routing_type=multicast)
    with pytest.raises(QueueFull):
        put("news", properties={"colour": "blue"})

    assert depth(takes_all) == 1


def test_receipts_are_in_order_whatever_the_selectors_choose(db: None) -> None:
    rest: dict[str, Any] = {"address": "news", "routing_type": RoutingType.MULTICAST}
    every = make_queue("every", **rest)
    odd = make_queue("odd", selector="odd = TRUE", **rest)
    messages = [
        NewMessage("news", properties={"odd": bool(number % 2)}) for number in range(5)
    ]

    receipts = put_many(messages)

    both, one = [every.pk, odd.pk], [every.pk]
    assert [r.queue_ids for r in receipts] == [one, both, one, both, one]
    ids = [r.message_id for r in receipts]
    assert ids == sorted(ids)


def test_a_guarded_address_that_is_gone_is_no_address(db: None) -> None:
    make_queue(max_depth=1)
    with pytest.raises(NoSuchAddress):
        put("nothing")


def test_two_who_put_at_once_do_not_fill_a_queue_beyond_its_depth(
    elsewhere: Elsewhere,
) -> None:
    orders = make_queue(max_depth=1)
    errors: list[BrokerError] = []

    def try_to_put() -> None:
        try:
            put("orders")
        except QueueFull as error:
            errors.append(error)

    elsewhere.begin()
    elsewhere(put, "orders")
    other = Background(try_to_put)
    other.thread.join(0.2)
    assert other.thread.is_alive(), "it waits until it is known what the first did"
    elsewhere.commit()
    other.join()

    assert len(errors) == 1
    assert depth(orders) == 1


@pytest.mark.spec("MD-6")
def test_a_unit_of_work_holds_so_many_messages_got_and_put(
    db: None, settings: Settings
) -> None:
    settings.BROKER_MAX_UNCOMMITTED_MESSAGES = 3
    make_queue()
    make_queue("answers")
    put_many(make_messages(9))
    work = UnitOfWork()

    assert len(work.get("orders", 2)) == 2
    work.put("answers")
    for too_much in (lambda: work.get("orders"), lambda: work.put("answers")):
        with pytest.raises(TooMuchUncommitted) as refused:
            too_much()
        assert refused.value.reason == Reason.SYNCPOINT_LIMIT_REACHED
        assert int(refused.value.reason) == 2024
        assert (refused.value.what, refused.value.limit) == ("messages", 3)
    work.commit()  # the refused calls changed nothing

    assert len(UnitOfWork().get("orders", 9)) == 3  # as many as it may


def test_a_unit_of_work_holds_so_many_bytes_of_puts(
    db: None, settings: Settings
) -> None:
    settings.BROKER_MAX_UNCOMMITTED_BYTES = 10
    answers = make_queue("answers")
    work = UnitOfWork()
    work.put("answers", b"12345", headers=b"1234")

    with pytest.raises(TooMuchUncommitted) as refused:
        work.put("answers", b"12")
    assert (refused.value.what, refused.value.limit) == ("bytes", 10)
    work.put("answers", b"1")
    work.commit()

    assert depth(answers) == 2


def test_what_was_settled_makes_room(db: None, settings: Settings) -> None:
    settings.BROKER_MAX_UNCOMMITTED_MESSAGES = 1
    make_queue()
    put_many(make_messages(2))
    work = UnitOfWork()
    (first,) = work.get("orders")
    work.accept(first)

    assert len(work.get("orders")) == 1


def test_another_anycast_queue_stands_in_for_a_full_one(db: None) -> None:
    make_queue("full", address="orders", max_depth=0)
    other = make_queue("other", address="orders")
    receipts = put_many(make_messages(4), now=NOON)
    assert [receipt.queue_ids for receipt in receipts] == [[other.pk]] * 4
