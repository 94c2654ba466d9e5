"""The counters of a queue: what they count, exactly, and from when on."""

from __future__ import annotations

import pytest

from broker.models import CounterReset, Event, Kind, Queue, Watermark
from broker.monitoring import counters
from broker.monitoring.counters import Counters, counted, read_counters, reset
from broker.queueing import delayed, journal
from broker.queueing.put import put, put_many
from broker.settlement import expiry
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.spec("ADMIN-6")


def back_out(limit: int = 1) -> None:
    with unit_of_work() as work:
        assert work.get("orders", limit)
        work.back_out("ValueError: no")


@pytest.mark.django_db
def test_a_queue_where_nothing_happened_counts_nothing(orders: Queue) -> None:
    assert counted(orders.pk) == Counters()


@pytest.mark.django_db
@pytest.mark.spec("UOW-9")
def test_ten_attempts_of_which_the_last_commits_are_one_acknowledged(
    orders: Queue,
) -> None:
    make_setting(max_delivery_attempts=-1)
    put("orders")
    for _ in range(9):
        back_out()
        assert counted(orders.pk).messages_acknowledged == 0
    work = UnitOfWork()
    work.get("orders")
    assert counted(orders.pk).acknowledge_attempts == 9
    work.commit()

    found = counted(orders.pk)

    assert found.messages_acknowledged == 1
    assert found.acknowledge_attempts == 10
    assert found.messages_added == 1


@pytest.mark.spec("UOW-9")
@pytest.mark.usefixtures("transactional_db")
def test_joined_attempts_are_counted_like_leased_ones() -> None:
    orders = make_queue("orders")
    put("orders")
    for _ in range(2):
        with pytest.raises(LookupError), unit_of_work(join=True) as work:
            work.get("orders")
            raise LookupError
    with unit_of_work(join=True) as work:
        work.get("orders")

    found = counted(orders.pk)

    assert (found.messages_acknowledged, found.acknowledge_attempts) == (1, 3)


@pytest.mark.django_db
def test_what_is_there_now_is_counted_place_by_place(orders: Queue) -> None:
    put_many(make_messages(5))
    put("orders", deliver_at=NOON + minutes(10**6))
    UnitOfWork().get("orders", 2)

    found = counted(orders.pk)

    assert (found.delivering, found.scheduled, found.message_count) == (2, 1, 6)
    assert found.messages_added == 6


@pytest.mark.django_db
@pytest.mark.spec("DLA-12")
def test_dead_letters_and_what_was_dropped_instead_are_killed(orders: Queue) -> None:
    dead = make_queue("DLQ", address="DLA")
    rule = make_setting(max_delivery_attempts=1, dead_letter_address="DLA")
    put_many(make_messages(3))
    back_out(2)
    assert counted(orders.pk).messages_killed == 2
    assert counted(dead.pk).messages_added == 2
    assert counted(dead.pk).messages_killed == 0
    rule.dead_letter_address = ""
    rule.save()
    back_out()

    found = counted(orders.pk)

    assert found.messages_killed == 3
    assert found.acknowledge_attempts == 3
    assert (found.messages_acknowledged, found.messages_expired) == (0, 0)
    assert found.message_count == 0


@pytest.mark.spec("DLA-12")
@pytest.mark.usefixtures("transactional_db")
def test_what_a_joined_unit_of_work_kills_is_counted_too() -> None:
    orders = make_queue("orders")
    make_setting(max_delivery_attempts=1)
    put("orders")
    with pytest.raises(LookupError), unit_of_work(join=True) as work:
        work.get("orders")
        raise LookupError

    found = counted(orders.pk)

    assert (found.messages_killed, found.acknowledge_attempts) == (1, 1)


@pytest.mark.django_db
def test_what_expired_is_neither_killed_nor_an_attempt(orders: Queue) -> None:
    put("orders", expires_at=NOON + seconds(1), now=NOON)
    expiry.expire(limit=10, now=NOON + seconds(2))

    found = counted(orders.pk)

    assert found == Counters(messages_added=1, messages_expired=1)


@pytest.mark.django_db
def test_a_redelivery_adds_no_message(orders: Queue) -> None:
    make_setting(redelivery_delay_ms=1000)
    put("orders", now=NOON)
    with unit_of_work(now=NOON) as work:
        work.get("orders")
        work.back_out("no")
    delayed.wake_due(limit=10, now=NOON + seconds(1))

    assert counted(orders.pk).messages_added == 1


@pytest.mark.usefixtures("transactional_db")
def test_counts_stay_when_the_journal_is_folded_and_forgotten() -> None:
    orders = make_queue("orders")
    make_setting(max_delivery_attempts=1)
    put_many(make_messages(2))
    back_out()
    before = counted(orders.pk)
    journal.fold()
    assert counted(orders.pk) == before
    folded = Watermark.objects.get(reader="tally").xid  # others may hold it back
    Event.objects.filter(xid__lt=folded).delete()

    put("orders")

    assert counted(orders.pk).messages_added == 3
    assert counted(orders.pk).messages_killed == before.messages_killed == 1


@pytest.mark.django_db
def test_other_queues_are_not_counted(orders: Queue) -> None:
    make_queue("answers")
    put("answers")

    assert counted(orders.pk) == Counters()


@pytest.mark.django_db
def test_a_reset_begins_to_count_anew_and_says_when(orders: Queue) -> None:
    put_many(make_messages(3))

    had = reset(orders, ["messages_added"], now=NOON)

    assert had == {"messages_added": 3}
    put("orders")
    now, since = read_counters(orders.pk)
    assert now.messages_added == 1
    assert since == {"messages_added": NOON}
    assert now.message_count == 4
    assert reset(orders, ["messages_added"], now=NOON + seconds(1)) == {
        "messages_added": 1
    }
    assert read_counters(orders.pk)[1] == {"messages_added": NOON + seconds(1)}
    assert read_counters(orders.pk)[0].messages_added == 0


@pytest.mark.django_db
def test_all_five_are_reset_and_what_is_there_now_never_is(orders: Queue) -> None:
    put_many(make_messages(2))
    back_out()
    UnitOfWork().get("orders")
    before = list(Event.objects.order_by("seq").values())

    assert set(reset(orders)) == set(counters.RESETTABLE)

    now, _ = read_counters(orders.pk)
    assert [getattr(now, name) for name in counters.RESETTABLE] == [0] * 5
    assert (now.delivering, now.message_count) == (1, 2)
    assert list(Event.objects.order_by("seq").values()) == before
    assert counted(orders.pk).messages_added == 2


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["message_count", "delivering", "luck"])
def test_what_is_no_such_counter_is_not_reset(orders: Queue, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        reset(orders, ["messages_added", name])

    assert not CounterReset.objects.exists()


def test_what_others_have_not_committed_is_counted_after_the_reset(
    elsewhere: Elsewhere,
) -> None:
    orders = make_queue("orders")
    elsewhere.begin()
    elsewhere(put, "orders")

    reset(orders)

    assert read_counters(orders.pk)[0].messages_added == 0
    elsewhere.commit()
    assert read_counters(orders.pk)[0].messages_added == 1
    CounterReset.objects.all().delete()  # before its queue, which the fixture deletes


@pytest.mark.usefixtures("transactional_db")
def test_counters_agree_with_the_depths_of_all_queues() -> None:
    orders = make_queue("orders")
    make_setting(max_delivery_attempts=3)
    put_many(make_messages(5))
    for limit in (5, 3, 2, 1):
        back_out(limit)
        journal.fold()

    found, depth = counted(orders.pk), journal.depths()[orders.pk]

    assert found.message_count == depth.total
    assert found.acknowledge_attempts == depth.accept_attempts == 11
    assert found.messages_added == depth.done[Kind.PUT] == 5
