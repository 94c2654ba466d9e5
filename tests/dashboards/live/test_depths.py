"""Depths as pages show them: exact, and counted without counting."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from broker.models import Queue
from broker.monitoring import dead_letter_queues
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from dashboards.live import depths
from tests.make import NOON, make_messages, make_queue, make_setting, seconds


def test_every_place_is_counted(orders: Queue) -> None:
    put_many(make_messages(5))
    put("orders", b"later", deliver_at=timezone.now() + timedelta(hours=1))
    with unit_of_work() as work:
        list(work.get("orders", limit=2))
        (depth,) = depths.queues()

    assert (depth.ready, depth.claimed, depth.delayed) == (3, 2, 1)
    assert (depth.arrived, depth.total) == (6, 6)


def test_queues_stand_by_name_whatever_its_case(db: None) -> None:
    for name in ("b", "C", "a"):
        make_queue(name)

    assert [depth.name for depth in depths.queues()] == ["a", "b", "C"]
    assert [depth.name for depth in depths.queues("C")] == ["C"]


def test_dead_letters_are_those_on_the_queues_of_dead_letter_addresses(
    orders: Queue,
) -> None:
    make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ", max_delivery_attempts=1)
    make_setting("audit", dead_letter_address="")  # nowhere
    put_many(make_messages(3))
    with suppress(ValueError), unit_of_work() as work:
        list(work.get("orders", limit=2))
        raise ValueError("bad")

    assert dead_letter_queues.count() == 2
    assert depths.totals(depths.queues())["dead"] == 2
    assert {q.name for q in depths.queues() if q.takes_dead_letters} == {"DLQ"}


@pytest.mark.spec("UNIFY-5")
def test_what_consumers_moved_away_counts_as_dead_letters(db: None) -> None:
    make_queue("orders", backout_queue="orders.BOQ")
    make_queue("orders.BOQ")
    make_queue("SYSTEM.DEAD.LETTER.QUEUE")
    for name in ("orders", "orders.BOQ", "SYSTEM.DEAD.LETTER.QUEUE"):
        put(name)

    assert dead_letter_queues.count() == 2
    assert {q.name for q in depths.queues() if q.takes_dead_letters} == {
        "orders.BOQ",
        "SYSTEM.DEAD.LETTER.QUEUE",
    }


def test_what_consumers_leave_lying_for_a_minute_is_told(orders: Queue) -> None:
    put("orders", now=NOON)

    found = [depths.queues(now=NOON + seconds(after)) for after in (59, 60)]

    assert [one.is_untaken for (one,) in found] == [False, True]


def test_only_what_changed_is_spelled_out_and_totals_always(orders: Queue) -> None:
    make_queue("invoices")
    put("orders", b"one")
    every = depths.queues()

    html = depths.html(every, [queue for queue in every if queue.name == "orders"])

    assert f'data-slot="q{orders.pk}-ready" value="1"' in html
    assert html.count("-claimed") == 1
    assert 'data-slot="ready" value="1"' in html


@pytest.mark.spec("UOW-9")
def test_ten_attempts_of_which_the_last_ends_well_are_told(orders: Queue) -> None:
    make_setting(max_delivery_attempts=-1)
    put("orders", now=NOON)
    for attempt in range(1, 11):
        work = UnitOfWork(now=NOON)
        work.get("orders")
        if attempt < 10:
            work.back_out("no")
        else:
            work.commit()
    (depth,) = depths.queues()
    assert (depth.arrived, depth.left, depth.attempts) == (1, 1, 10)
