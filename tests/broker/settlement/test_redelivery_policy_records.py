"""How many redeliveries leave a record, and what a restart makes of the others."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from broker.models import Claim, Delayed, Kind, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import delayed as delays
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.settlement import hardening
from broker.settlement.hardening import forget_counts, records
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

DELAY_MS = 60_000


@pytest.fixture
def orders(db: None) -> Queue:
    make_setting("orders", max_delivery_attempts=-1, redelivery_delay_ms=DELAY_MS)
    return make_queue()


def back_out_often(times: int, limit: int = 1) -> None:
    """At noon, and then whenever the delay is over; the last delay goes on."""
    for time in range(times):
        assert len(back_out(at=time, limit=limit)) == limit


@pytest.mark.spec("REDEL-9")
@pytest.mark.parametrize(("limit", "expected"), [(-1, 200), (0, 0), (1, 2), (None, 20)])
def test_a_hundred_rollbacks_leave_records_up_to_the_limit(
    orders: Queue, settings: Settings, limit: int | None, expected: int
) -> None:
    if limit is not None:
        settings.BROKER_MAX_REDELIVERY_RECORDS = limit
    put("orders")
    back_out_often(100)

    assert records(orders.pk) == expected


@pytest.mark.spec("REDEL-9")
def test_without_a_delay_a_failure_leaves_one_record(db: None) -> None:
    queue = make_queue()
    put_many(make_messages(3))
    for _ in range(2):
        back_out(limit=3)

    assert records(queue.pk) == 6


@pytest.mark.spec("REDEL-9")
def test_messages_that_are_not_durable_leave_no_record(orders: Queue) -> None:
    put("orders", durable=False)
    back_out_often(2)

    assert records(orders.pk) == 0


@pytest.mark.spec("REDEL-9")
def test_what_is_given_back_uncounted_leaves_no_record(orders: Queue) -> None:
    message_id = put("orders").message_id
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    work.release(delivery)

    assert records(orders.pk) == 0
    assert "records" not in journal.lifeline(message_id)[-1].detail


@pytest.mark.spec("REDEL-9")
@pytest.mark.parametrize(
    ("limit", "recovered"), [(-1, 12), (0, 0), (1, 1), (10, 10), (11, 11), (12, 12)]
)
def test_a_restart_recovers_counts_up_to_the_limit(
    orders: Queue, settings: Settings, limit: int, recovered: int
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = limit
    put("orders")
    back_out_often(12)
    restarted_at = NOON + minutes(11) + seconds(1)

    assert forget_counts(now=restarted_at) == int(recovered != 12)

    delayed = Delayed.objects.get()
    assert (delayed.backout_count, delayed.delivery_count) == (recovered, 12)
    due_at = NOON + minutes(12) if recovered == 12 else restarted_at
    assert delayed.due_at == due_at
    assert forget_counts(now=restarted_at) == 0, "twice is once"
    assert fsck.violations() == []


@pytest.mark.spec("REDEL-9")
def test_what_lost_its_delay_is_delivered_at_once(
    orders: Queue, settings: Settings
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 1
    put("orders")
    back_out_often(2)
    work = UnitOfWork(now=NOON + minutes(1) + seconds(1))
    assert work.get("orders") == []

    forget_counts(now=work.now)

    (delivery,) = work.get("orders")
    assert delivery.backout_count == 1


@pytest.mark.spec("REDEL-9")
def test_what_was_due_already_stays_due_since_then(
    orders: Queue, settings: Settings
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 0
    put("orders")
    back_out_often(1)

    forget_counts(now=NOON + minutes(9))

    assert Delayed.objects.get().due_at == NOON + minutes(1)


@pytest.mark.spec("REDEL-9")
def test_counts_are_recovered_wherever_their_entries_are(
    orders: Queue, settings: Settings
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 2
    put_many(make_messages(3))
    back_out_often(4, limit=3)
    held = UnitOfWork(now=NOON + minutes(4))
    held.get("orders")
    delays.wake_due(limit=1, now=held.now)

    assert forget_counts(now=held.now) == 3

    assert Delayed.objects.get().backout_count == 2
    assert Ready.objects.get().backout_count == 2
    assert Claim.objects.get().backout_counts == [2]
    held.commit()
    assert fsck.violations() == []


@pytest.mark.spec("REDEL-9", "MD-2")
@pytest.mark.parametrize("hardened", [True, False])
def test_a_queue_with_a_threshold_keeps_all_counts_or_none(
    db: None, settings: Settings, hardened: bool
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 1
    make_queue(backout_threshold=50, harden_backout=hardened)
    put("orders")
    back_out_often(3)

    assert forget_counts() == int(not hardened)
    assert Ready.objects.get().backout_count == (3 if hardened else 0)


@pytest.mark.spec("REDEL-9")
def test_the_life_line_says_what_was_recovered(
    orders: Queue, settings: Settings
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 2
    message_id = put("orders").message_id
    back_out_often(3)
    forget_counts()

    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.detail["backout_count"]) == (Kind.RESET, 2)


@pytest.mark.spec("REDEL-9")
def test_more_than_a_batch_is_recovered(
    orders: Queue, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = 1
    monkeypatch.setattr(hardening, "BATCH", 2)
    put_many(make_messages(5))
    back_out_often(2, limit=5)

    assert forget_counts() == 5
    assert {one.backout_count for one in Delayed.objects.all()} == {1}


@pytest.mark.spec("REDEL-9")
@pytest.mark.parametrize(("limit", "refused"), [(-2, True), (-1, False), (0, False)])
def test_a_limit_that_is_none_is_refused_at_the_start(
    settings: Settings, limit: int, refused: bool
) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = limit
    ids = [one.id for one in run_checks()]
    assert ("broker.E003" in ids) is refused
