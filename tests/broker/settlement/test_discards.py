"""The discard bin: on no queue, but not lost; gone when its time is over."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from broker.errors.mq_codes import Reason, Report
from broker.models import (
    AddressSetting,
    Annotations,
    Discarded,
    Message,
    Queue,
    RoutingType,
)
from broker.monitoring import fsck
from broker.queueing.put import put, put_many
from broker.settlement import discards
from broker.settlement.poison import Last, Removing
from broker.sql import partitions
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, on
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

WEEK = timedelta(days=7)


@pytest.fixture
def lossy(db: None) -> Queue:
    return make_lossy()


def make_lossy(**settings: Any) -> Queue:
    """A queue whose poison messages have nowhere to go but the bin."""
    make_setting("lossy", max_delivery_attempts=1, **settings)
    return make_queue("lossy")


def throw_away(at: float = 0, **fields: Any) -> int:
    """A message that is discarded some minutes after noon; its number."""
    message_id = put("lossy", fields.pop("body", b"x"), now=NOON, **fields).message_id
    assert back_out("lossy", at=at)
    return message_id


def binned(**chosen: Any) -> list[int]:
    return [one.message_id for one in discards.discarded(**chosen)]


def restore(message_id: int, queue: Queue, **fields: Any) -> None:
    discards.restore(message_id, queue.pk, **{"now": NOON + minutes(1)} | fields)


@pytest.mark.spec("POISON-7")
def test_what_its_report_options_discard_is_on_no_queue_but_in_the_bin(
    db: None,
) -> None:
    orders = make_queue("orders", backout_threshold=1)
    make_queue("SYSTEM.DEAD.LETTER.QUEUE")
    descriptor = {"report": int(Report.DISCARD_MSG)}
    message_id = put("orders", b"x", descriptor=descriptor, now=NOON).message_id
    back_out()
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")

    work.remove_now(Removing(delivery, ""), last=Last.RETURN)
    work.commit()

    assert not on("orders") + on("SYSTEM.DEAD.LETTER.QUEUE")
    (one,) = discards.discarded()
    assert (one.message_id, one.queue_id, one.queue) == (
        message_id,
        orders.pk,
        "orders",
    )
    assert one.reason == Reason.BACKOUT_THRESHOLD_REACHED
    assert one.backout_count == 1
    assert (one.discarded_at, one.keep_until) == (NOON, NOON + WEEK)
    assert fsck.violations() == []


@pytest.mark.spec("POISON-7", "POISON-8")
def test_what_no_queue_takes_is_in_the_bin_and_says_why(db: None) -> None:
    make_queue("orders", backout_threshold=1, backout_queue="NOT.THERE")
    put("orders", b"x", now=NOON)
    back_out()
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")

    work.remove_now(Removing(delivery, "NOT.THERE"), last=Last.DISCARD)

    (one,) = discards.discarded()
    assert one.reason == Reason.UNKNOWN_OBJECT_NAME
    assert "UNKNOWN_OBJECT_NAME" in one.why
    assert one.size_bytes == 1


def test_without_retention_a_discarded_message_is_gone(db: None) -> None:
    make_lossy(discard_retention_s=0)
    throw_away(body=b"secret")

    assert binned() == []
    assert not Message.objects.exists()
    assert fsck.violations() == []
    assert fsck.sums().discarded == 1


def test_without_retention_what_another_queue_has_stays(db: None) -> None:
    for name in ("left", "right", "kept"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    make_setting("news", max_delivery_attempts=1, discard_retention_s=0)
    put("news", b"x", now=NOON)

    back_out("left")
    assert len(UnitOfWork(now=NOON).get("right")) == 1
    back_out("kept")

    assert Message.objects.count() == 1
    assert fsck.violations() == []


@pytest.mark.parametrize("place", ["ready", "delayed", "claimed", "discarded"])
def test_a_message_is_not_forgotten_while_it_is_somewhere(db: None, place: str) -> None:
    make_lossy(redelivery_delay_ms=60_000)
    message_id = put("lossy", now=NOON).message_id
    if place == "delayed":
        AddressSetting.objects.update(max_delivery_attempts=2)
    if place in ("delayed", "discarded"):
        back_out("lossy")
    if place == "claimed":
        UnitOfWork(now=NOON).get("lossy")

    discards.forget([message_id])

    assert Message.objects.filter(pk=message_id).exists()


def test_what_came_back_is_found_where_it_stands(lossy: Queue) -> None:
    """It stands elsewhere in its lane than what is new."""
    message_id = throw_away()
    restore(message_id, lossy)

    discards.forget([message_id])

    assert Message.objects.filter(pk=message_id).exists()


def test_the_bin_is_emptied_when_its_time_is_over(db: None) -> None:
    make_lossy(discard_retention_s=600)
    early, late = throw_away(), throw_away(at=5)
    for one in (early, late):
        Annotations.objects.create(message_id=one, queue_id=1, annotations={})

    assert discards.empty_due(limit=10, now=NOON + minutes(9)) == 0
    assert discards.empty_due(limit=10, now=NOON + minutes(10)) == 1

    assert binned() == [late]
    assert list(Message.objects.values_list("pk", flat=True)) == [late]
    assert Annotations.objects.get().message_id == late
    assert fsck.violations() == []
    assert discards.empty_due(limit=1, now=NOON + minutes(60)) == 1
    assert not Message.objects.exists()


def test_emptying_the_bin_passes_what_somebody_restores(elsewhere: Elsewhere) -> None:
    lossy = make_lossy(discard_retention_s=600)
    message_id = throw_away()
    elsewhere.begin()
    elsewhere(restore, message_id, lossy)

    assert discards.empty_due(limit=10, now=NOON + minutes(10)) == 0
    elsewhere.commit()

    assert on("lossy") == [message_id]
    assert fsck.violations() == []


def test_a_retention_beyond_all_dates_is_a_century(db: None) -> None:
    make_lossy(discard_retention_s=2**62)

    throw_away()

    (one,) = discards.discarded()
    assert one.keep_until.year == 2126


def test_a_partition_past_retention_keeps_what_is_in_the_bin(
    lossy: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "FEW", 1)
    name = partition_of(first := throw_away(body=b"kept"))
    put("lossy", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("lossy")
    work.commit()
    monkeypatch.setattr(partitions, "last_message_id", lambda: 2**62)

    partitions.drop_messages(name, int(name.rpartition("_p")[2]) * partitions.MESSAGES)

    assert [(m.pk, bytes(m.body)) for m in Message.objects.all()] == [(first, b"kept")]
    restore(first, lossy)
    assert fsck.violations() == []


def partition_of(message_id: int) -> str:
    return f"broker_message_p{message_id // partitions.MESSAGES}"


def test_pages_of_the_bin_are_the_newest_first_and_miss_nothing(db: None) -> None:
    make_lossy()
    put_many(make_messages(5, "lossy"), now=NOON)
    back_out("lossy", limit=3)  # at one moment
    back_out("lossy", limit=2, at=1)

    pages, before = [], None
    while page := discards.discarded(before=before, limit=2):
        pages.append([one.message_id for one in page])
        before = page[-1].cursor

    found = [message_id for page in pages for message_id in page]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 5


def test_the_bin_is_filtered_by_queue_and_reason(db: None) -> None:
    make_lossy()
    make_queue("other")
    make_setting("other", max_delivery_attempts=1)
    first = throw_away()
    second = put("other", now=NOON).message_id
    back_out("other", at=1)
    Discarded.objects.filter(message_id=second).update(reason=2362)

    assert binned() == [second, first]
    assert binned(queue="lossy") == [first]
    assert binned(reason=2362) == [second]
    assert binned(reason=0) == [first]
    assert binned(queue="lossy", reason=2362) == []
    assert binned(within=["other"]) == [second]
    assert binned(within=[]) == []


def test_what_a_deleted_queue_had_is_discarded_too(db: None) -> None:
    """Its consumer backs it out where nothing is left to put it back to."""
    lossy = make_lossy()
    message_id = put("lossy", now=NOON).message_id
    work = UnitOfWork(now=NOON)
    work.get("lossy")
    Queue.objects.filter(pk=lossy.pk).delete()

    work.back_out("no")

    (one,) = discards.discarded()
    assert (one.message_id, one.queue, one.is_orphan) == (message_id, "", True)
    assert one.discarded_at <= datetime.now(one.discarded_at.tzinfo)
