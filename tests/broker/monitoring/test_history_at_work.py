"""Samples of what was committed, and of several processes."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread

from django.db import connection, transaction
from django.db.models import F

from broker.models import Claim, Event, HistorySample, Kind
from broker.monitoring.history import reading, sampling
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.transactions.scope import unit_of_work
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, seconds


def test_the_time_from_get_to_accept_is_sampled(transactional_db: None) -> None:
    """Of one message that a consumer had for 100 ms or a bit more, and of a batch."""
    orders = make_queue("orders")
    put_many(make_messages(3))
    sampling.sample(now=NOON)
    for many, earlier_ms in ((1, 100), (2, 3000)):
        with unit_of_work() as work:
            work.get("orders", many)
            earlier = F("claimed_at") - timedelta(milliseconds=earlier_ms)
            Claim.objects.update(claimed_at=earlier)
    held = Event.objects.filter(kind=Kind.ACCEPT).values_list("held_ms", flat=True)
    assert sorted((ms or 0) >= 3000 for ms in held) == [False, True]

    def is_folded() -> bool:
        journal.fold()
        return not journal.is_any_unfolded()

    until(is_folded)
    sampling.sample(now=NOON + seconds(10))

    end = NOON + seconds(10)
    (point,) = filter(None, reading.read([orders.pk], NOON, end, now=end).points)
    assert point.p50_ms is not None
    assert point.p95_ms is not None
    assert point.p50_ms >= 2048
    assert point.p95_ms >= point.p50_ms


def test_of_two_samplers_one_samples(transactional_db: None) -> None:
    make_queue("orders")
    sampling.sample(now=NOON)
    put("orders")
    found: list[bool] = []

    def other() -> None:
        found.append(sampling.sample(now=NOON + seconds(10)))
        connection.close()

    with transaction.atomic():
        assert sampling.sample(now=NOON + seconds(10))
        while_it_works = Thread(target=other)
        while_it_works.start()
        while_it_works.join()
    after_it = Thread(target=other)
    after_it.start()
    after_it.join()

    assert found == [False, False]
    assert HistorySample.objects.count() == 1
