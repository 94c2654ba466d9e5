"""How what expired is found: by the scan, and by gets where that is slow or off."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import transaction

from broker import tasks
from broker.models import Event, Kind, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import delayed, journal
from broker.queueing.put import put, put_many
from broker.settlement import expiry
from broker.settlement.expiry import Scans
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

SOON = NOON + minutes(1)
OFF = -1.0


@pytest.fixture
def scan_is_off(settings: Any) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = OFF


def done(queue: Queue) -> int:
    """How many expired on a queue."""
    return journal.depths()[queue.pk].done[Kind.EXPIRE]


@pytest.mark.django_db
@pytest.mark.spec("EXP-1")
@pytest.mark.parametrize(
    ("period_s", "scanned_at"),
    [
        (1.0, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (0.0, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (3.0, [0, 2, 4, 6, 8]),
        (5.0, [0, 4, 8]),
        (OFF, []),
    ],
)
def test_the_scan_comes_once_in_its_period_rather_a_beat_early_than_late(
    settings: Any, period_s: float, scanned_at: list[int]
) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = period_s
    scans, scanned = Scans(), list[int]()
    for beat in range(9):
        if scans.are_due(beat):
            scans.last_s = beat
            scanned.append(beat)
    assert scanned == scanned_at


@pytest.mark.django_db
@pytest.mark.spec("EXP-1")
@pytest.mark.parametrize(("period_s", "left"), [(1.0, 0), (OFF, 1)])
def test_the_task_scans_unless_it_is_switched_off(
    orders: Queue, settings: Any, period_s: float, left: int
) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = period_s
    put("orders", expires_at=NOON - minutes(1), now=NOON - minutes(2))
    tasks.expire()
    assert Ready.objects.count() == left


@pytest.mark.django_db
@pytest.mark.spec("EXP-1")
def test_with_the_scan_off_a_get_ends_what_it_met(
    orders: Queue, scan_is_off: None
) -> None:
    make_queue("late")
    make_setting("orders", expiry_address="late")
    for priority in (0, 4, 9):
        put("orders", priority=priority, expires_at=SOON, now=NOON)
    put("orders", b"for ever", deliver_at=SOON + minutes(9), now=NOON)

    assert expiry.expire_on("orders", limit=10, now=SOON) == 3

    assert (done(orders), journal.depths()[orders.pk].total) == (3, 1)
    assert len(UnitOfWork(now=SOON).get("late", 9)) == 3
    assert fsck.violations() == []
    assert expiry.expire_on("orders", limit=10, now=SOON) == 0


@pytest.mark.django_db
@pytest.mark.spec("EXP-1")
def test_with_the_scan_off_a_unit_of_work_that_gets_nothing_ends_what_expired(
    orders: Queue, scan_is_off: None
) -> None:
    put_many(make_messages(3, expires_at=SOON), now=NOON)

    assert UnitOfWork(now=SOON).get("orders") == []

    assert (done(orders), Ready.objects.count()) == (3, 0)


@pytest.mark.django_db
def test_a_get_ends_a_bounded_number_and_the_next_one_the_rest(
    orders: Queue, scan_is_off: None
) -> None:
    put_many(make_messages(5, expires_at=SOON), now=NOON)
    ended = [expiry.expire_on("orders", limit=2, now=SOON) for _ in range(4)]
    assert ended == [2, 2, 1, 0]


@pytest.mark.django_db
def test_a_get_does_not_look_behind_the_head_of_its_queue(
    orders: Queue, scan_is_off: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor could it have met what stands there: it would have found the others."""
    monkeypatch.setattr(expiry, "HEAD", 3)
    put_many(make_messages(2, expires_at=SOON), now=NOON)
    put_many(make_messages(2), now=NOON)
    put_many(make_messages(2, expires_at=SOON), now=NOON)
    assert expiry.expire_on("orders", limit=10, now=SOON) == 2
    assert expiry.expire(limit=10, now=SOON) == 2


@pytest.mark.django_db
def test_a_get_leaves_alone_what_is_on_time_on_another_queue_or_paused(
    orders: Queue, scan_is_off: None
) -> None:
    make_queue("invoices")
    put("invoices", expires_at=SOON, now=NOON)
    put("orders", expires_at=SOON + seconds(1), now=NOON)
    assert expiry.expire_on("orders", limit=10, now=SOON) == 0
    Queue.objects.update(paused=True)
    assert expiry.expire_on("invoices", limit=10, now=SOON) == 0
    assert Ready.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(("period_s", "ends"), [(0.5, 0), (1.0, 0), (2.0, 1)])
def test_where_the_scan_comes_each_second_a_get_leaves_it_to_that(
    orders: Queue, settings: Any, period_s: float, ends: int
) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = period_s
    put("orders", expires_at=SOON, now=NOON)
    assert expiry.expire_on("orders", limit=10, now=SOON) == ends


@pytest.mark.usefixtures("scan_is_off")
@pytest.mark.parametrize("by", ["scan", "get"])
def test_two_who_expire_at_once_end_each_message_once(
    elsewhere: Elsewhere, by: str
) -> None:
    orders = make_queue("orders")
    put_many(make_messages(3, expires_at=SOON), now=NOON)

    def expire() -> int:
        if by == "scan":
            return expiry.expire(limit=2, now=SOON)
        return expiry.expire_on("orders", limit=2, now=SOON)

    elsewhere.begin()
    first = elsewhere(expire)
    second = expire()
    elsewhere.commit()

    assert (first, second) == (2, 1)
    assert done(orders) == 3
    assert fsck.violations() == []


@pytest.mark.usefixtures("transactional_db", "scan_is_off")
def test_what_a_get_ended_in_a_transaction_that_is_undone_is_there_again() -> None:
    orders = make_queue("orders")
    put("orders", expires_at=SOON, now=NOON)
    with transaction.atomic():
        assert expiry.expire_on("orders", limit=10, now=SOON) == 1
        transaction.set_rollback(True)
    assert (done(orders), Ready.objects.count()) == (0, 1)
    assert expiry.expire(limit=10, now=SOON) == 1


@pytest.mark.django_db
@pytest.mark.spec("EXP-5")
@pytest.mark.usefixtures("scan_is_off")
def test_with_the_scan_off_what_expired_while_it_waited_is_not_delivered(
    orders: Queue,
) -> None:
    put("orders", expires_at=SOON, deliver_at=SOON + minutes(1), now=NOON)
    late = SOON + minutes(2)

    delayed.wake_due(limit=10, now=late)

    assert UnitOfWork(now=late).get("orders") == []
    expiry.expire_on("orders", limit=10, now=late)
    assert (done(orders), journal.depths()[orders.pk].total) == (1, 0)


@pytest.mark.django_db
@pytest.mark.spec("EXP-1")
def test_behind_a_head_that_expired_gets_find_what_is_alive_in_its_order(
    orders: Queue,
) -> None:
    for priority in (9, 4):
        expired = make_messages(50, expires_at=SOON, priority=priority)
        put_many([*expired, *make_messages(2, priority=priority)], now=NOON)
    got = UnitOfWork(now=SOON).get("orders", 10)
    assert [(one.priority, one.body) for one in got] == [
        *((9, b"1"), (9, b"2")),
        *((4, b"1"), (4, b"2")),
    ]


@pytest.mark.django_db
def test_a_scan_of_many_queues_takes_as_many_statements_as_one_of_few(
    statements: list[str],
) -> None:
    make_queue("late")
    make_setting("to.#", expiry_address="late")
    ran = []
    for queues in (3, 9):
        for n in range(queues):
            for name in (f"drop.{queues}.{n}", f"to.{queues}.{n}"):
                make_queue(name)
                put(name, expires_at=SOON, now=NOON)
        statements.clear()

        assert expiry.expire(limit=100, now=SOON) == 2 * queues

        ran.append(len(statements))
    assert ran[0] == ran[1]
    assert len(UnitOfWork(now=SOON).get("late", 99)) == 3 + 9
    assert Counter(row.n for row in Event.objects.filter(kind=Kind.EXPIRE)) == {1: 24}
    assert fsck.violations() == []
