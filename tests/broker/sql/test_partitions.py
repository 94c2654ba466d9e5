"""Partitions: there before they are needed, and gone when nothing needs them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test import override_settings

from broker import models, operations
from broker.models import DeadLetter, Event, Message, Operation, Queue, Ready
from broker.monitoring import dead_letters, fsck
from broker.operations import Chosen, Order
from broker.queueing import delayed, journal
from broker.queueing.put import put, put_many
from broker.sql import partitions
from broker.sql.partitions import MESSAGES, children
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, operator
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.sql.partitioning import (
    OLD,
    TODAY,
    WEEKS_LATER,
    accept,
    drop_old,
    execute,
    fill_old_partition,
    ids_go_on_at,
    read_the_journal,
)
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

LONG_AGO = date(2020, 1, 1)  # before every partition there is


def test_partitions_of_the_near_future_are_made_ahead(orders: Queue) -> None:
    ids_go_on_at(OLD * MESSAGES)

    partitions.make_ahead(today=TODAY)
    assert {f"broker_message_p{n}" for n in range(50, 54)} <= children("broker_message")
    days = {f"broker_event_p202603{day}" for day in range(13, 21)}
    assert days <= children("broker_event")
    receipt = put("orders", now=NOON)
    assert partition_of("message", id=receipt.message_id) == "broker_message_p50"
    assert partition_of("event", queue_id=orders.pk) == "broker_event_p20260314"


def test_to_make_partitions_again_changes_nothing(orders: Queue) -> None:
    partitions.make_ahead(today=TODAY)
    made = [children("broker_message"), children("broker_event")]
    partitions.make_ahead(today=TODAY)
    assert [children("broker_message"), children("broker_event")] == made


def test_rows_of_the_default_partition_are_absorbed(orders: Queue) -> None:
    ids_go_on_at(OLD * MESSAGES)
    receipts = put_many(make_messages(3), now=NOON)
    assert partition_of("message", id=receipts[0].message_id).endswith("default")
    assert partition_of("event", queue_id=orders.pk).endswith("default")

    partitions.make_ahead(today=TODAY)

    assert partition_of("message", id=receipts[0].message_id) == "broker_message_p50"
    assert partition_of("event", queue_id=orders.pk) == "broker_event_p20260314"
    assert fsck.violations() == []
    assert len(UnitOfWork(now=NOON).get("orders", 3)) == 3


def test_rows_of_other_ranges_stay_in_the_default_partition(orders: Queue) -> None:
    put("orders", now=WEEKS_LATER)
    partitions.make_ahead(today=TODAY)
    assert partition_of("event", queue_id=orders.pk).endswith("default")


def test_a_row_that_comes_while_its_partition_is_made_stops_nothing(
    old_day: str, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    """The default may not hold rows of the new partition when that is attached."""
    orders = make_queue("orders")
    elsewhere.begin()
    elsewhere(put, "orders", now=noon_of(LONG_AGO))
    maker = Background(make_old_day)
    until(somebody_waits_for_a_lock)
    elsewhere.commit()

    maker.join()

    assert "is not made yet" in caplog.text
    make_old_day()
    assert partition_of("event", queue_id=orders.pk) == old_day


def test_a_partition_that_cannot_be_had_is_made_another_time(
    old_day: str, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere.begin()
    elsewhere(execute, "LOCK broker_event_default IN ACCESS SHARE MODE")

    make_old_day()

    assert f"Partition {old_day} is not made yet" in caplog.text.replace("\n", " ")
    elsewhere.commit()
    make_old_day()
    assert old_day in children("broker_event")


@override_settings(BROKER_MESSAGE_RETENTION_BYTES=1)
def test_above_the_size_limit_the_oldest_that_no_queue_has_go_first(
    orders: Queue,
) -> None:
    fill_old_partition(3)
    for _ in range(2):
        drop_old(NOON)
    assert Message.objects.count() == 3
    accept("orders", 3)
    drop_old(NOON)
    assert not Message.objects.exists()


def test_messages_past_retention_go_when_no_queue_has_them(orders: Queue) -> None:
    fill_old_partition(3)
    accept("orders", 3)

    drop_old()

    assert not Message.objects.exists()
    assert f"broker_message_p{OLD}" not in children("broker_message")
    assert fsck.violations() == []


def test_with_its_messages_a_dead_letter_s_story_goes(orders: Queue) -> None:
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    fill_old_partition(1)
    back_out("orders")
    accept("DLQ", 1)

    drop_old()

    assert not DeadLetter.objects.exists()


@override_settings(BROKER_MESSAGE_RETENTION_DAYS=7)
def test_messages_within_retention_stay(orders: Queue) -> None:
    fill_old_partition(3)
    accept("orders", 3)

    drop_old(now=NOON + timedelta(days=7))

    assert Message.objects.count() == 3


def test_messages_on_queues_stay_however_old(orders: Queue) -> None:
    fill_old_partition(10)
    accept("orders", 9)
    drop_old()
    assert Message.objects.count() == 10


def test_what_an_undo_can_bring_back_stays_however_old(orders: Queue) -> None:
    make_queue("elsewhere")
    fill_old_partition(2)
    order = Order(Operation.Kind.MOVE, "elsewhere")
    chosen = Chosen(queue="orders")
    moved = operations.plan(operator(), order, chosen, scope="all", reason="x")
    operations.start(moved.pk)
    accept("elsewhere", 1)

    drop_old()

    back = operations.plan_undo(operator(), moved.pk)
    operations.start(back.pk)
    assert Ready.objects.filter(queue_id=orders.pk).count() == 1
    assert fsck.violations() == []


def test_the_partition_that_ids_are_taken_from_stays(orders: Queue) -> None:
    ids_go_on_at(OLD * MESSAGES)
    partitions.make_ahead(today=TODAY)
    partitions.drop_old(now=WEEKS_LATER)
    assert f"broker_message_p{OLD}" in children("broker_message")


def test_few_survivors_are_carried_over_and_delivered(orders: Queue) -> None:
    """One ready, one delayed and one in the hands of a consumer."""
    ids = fill_old_partition(300)
    make_setting("orders", redelivery_delay_ms=1000)
    back_out("orders")
    accept("orders", 297)
    holder = UnitOfWork(now=NOON)
    holder.get("orders")

    drop_old()

    kept = Message.objects.order_by("id")
    assert [message.pk for message in kept] == [ids[0], *ids[-2:]]
    assert partition_of("message", id=ids[0]) == f"broker_message_p{OLD}"
    holder.commit()
    delayed.wake_due(limit=10, now=NOON + minutes(1))
    work = UnitOfWork(now=NOON + minutes(1))
    assert [d.body for d in work.get("orders", 10)] == [b"1", b"300"]
    work.commit()


def test_a_partition_may_be_rewritten_again_and_then_dropped(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "FEW", 0.9)
    fill_old_partition(4)
    left = []
    for _ in range(4):
        accept("orders", 1)
        drop_old()
        left.append(Message.objects.count())
    assert left == [3, 2, 1, 0]
    assert f"broker_message_p{OLD}" not in children("broker_message")


def test_a_rewritten_partition_is_healthy(orders: Queue) -> None:
    """The journal, which is kept longer, still names copies that were dropped."""
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    fill_old_partition(200)
    back_out("orders")
    accept("DLQ", 1)
    accept("orders", 198)
    execute("INSERT INTO broker_annotations SELECT id, 1, '{}' FROM broker_message")

    drop_old()

    assert Message.objects.count() == models.Annotations.objects.count() == 1
    assert fsck.violations() == []
    assert dead_letters.groups() == []


def test_a_day_of_the_journal_goes_when_all_have_read_it(orders: Queue) -> None:
    partitions.make_ahead(today=TODAY)
    put("orders", now=NOON)
    read_the_journal()

    partitions.drop_old(now=WEEKS_LATER)

    assert "broker_event_p20260314" not in children("broker_event")
    assert not Event.objects.exists()
    assert journal.depths()[orders.pk].ready == 1
    assert fsck.violations() == []


def test_a_day_of_the_journal_stays_while_one_has_not_read_it(
    orders: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    partitions.make_ahead(today=TODAY)
    put("orders", now=NOON)
    read_the_journal()
    execute("INSERT INTO broker_watermark (reader, xid) VALUES ('reports', 0)")

    partitions.drop_old(now=WEEKS_LATER)

    assert "p20260314 is past retention, but has not been read yet" in caplog.text
    assert Event.objects.count() == 1


@override_settings(BROKER_JOURNAL_RETENTION_DAYS=30)
def test_a_day_of_the_journal_within_retention_stays(orders: Queue) -> None:
    partitions.make_ahead(today=TODAY)
    put("orders", now=NOON)
    read_the_journal()

    partitions.drop_old(now=NOON + timedelta(days=30))
    assert "broker_event_p20260314" in children("broker_event")

    partitions.drop_old(now=NOON + timedelta(days=31))
    assert "broker_event_p20260314" not in children("broker_event")


def test_a_partition_that_somebody_reads_is_dropped_another_time(
    old_day: str, elsewhere: Elsewhere
) -> None:
    make_old_day()
    later = noon_of(LONG_AGO) + timedelta(days=60)
    elsewhere.begin()
    elsewhere(Event.objects.count)

    partitions.drop_old(now=later)

    assert old_day in children("broker_event")
    elsewhere.commit()
    partitions.drop_old(now=later)
    assert old_day not in children("broker_event")


@pytest.fixture
def old_day(transactional_db: None) -> Iterator[str]:
    """The name of a partition that is really made, and taken away again."""
    name = f"broker_event_p{LONG_AGO:%Y%m%d}"
    yield name
    execute(f"DROP TABLE IF EXISTS {name}")


def make_old_day() -> None:
    low, high = (partitions.midnight(LONG_AGO + timedelta(days=n)) for n in (0, 1))
    partitions.make("broker_event", f"p{LONG_AGO:%Y%m%d}", "at", low, high)


def partition_of(table: str, **key: int) -> str:
    ((column, value),) = key.items()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT tableoid::regclass::text FROM broker_{table} WHERE {column} = %s",
            [value],
        )
        return str(cursor.fetchone()[0])


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted"
            " AND relation = 'broker_event_default'::regclass)"
        )
        return bool(cursor.fetchone()[0])


def noon_of(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
