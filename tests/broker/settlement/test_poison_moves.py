"""Poison messages on their way: what moves with what, and how they look there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured

from broker.errors.mq_codes import Reason, Report
from broker.errors.units_of_work import BackedOut
from broker.formats.mq.chain import chain_of
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from broker.models import DeadLetter, Discarded, Ready
from broker.monitoring import fsck
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.settlement.poison import Last, Removing
from broker.settlement.redelivery_policy import NoPlace, Removal
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import plan, start
from tests.make import NOON, make_queue, minutes, seconds

pytestmark = pytest.mark.django_db

DLQ = configured.BROKER_DEAD_LETTER_QUEUE
FULL, UNKNOWN = Reason.Q_FULL, Reason.UNKNOWN_OBJECT_NAME
REACHED = Reason.BACKOUT_THRESHOLD_REACHED
ASKED = Report.DISCARD_MSG


@pytest.mark.spec("POISON-6", "POISON-13")
def test_a_move_is_part_of_the_receivers_unit_of_work() -> None:
    make_poison(backout_queue="BOQ")
    work, delivery = got()
    work.remove(Removing(delivery, "BOQ"))
    assert Ready.objects.count() == 0  # not yet
    work.commit()
    (moved,) = UnitOfWork(now=NOON).get("BOQ")
    assert (moved.body, moved.backout_count) == (b"x", 0)
    assert fsck.violations() == []


@pytest.mark.spec("POISON-8")
def test_a_move_is_undone_with_the_receivers_unit_of_work() -> None:
    make_poison(backout_queue="BOQ", backouts=3)
    work, delivery = got()
    work.remove(Removing(delivery, "BOQ"))
    work.back_out("no")
    assert UnitOfWork(now=NOON).get("BOQ") == []
    assert got()[1].backout_count == 4


@pytest.mark.spec("POISON-8", "UOW-8")
def test_a_move_is_undone_when_the_commit_fails() -> None:
    make_poison(backout_queue="BOQ")
    work, delivery = got()
    work.remove(Removing(delivery, "BOQ"))
    work.put("nowhere")
    with pytest.raises(BackedOut):
        work.commit()
    assert UnitOfWork(now=NOON).get("BOQ") == []


@pytest.mark.spec("POISON-13", "UNIFY-2")
def test_a_moved_message_has_an_rfh2_and_is_otherwise_the_same() -> None:
    before = {
        "report": int(Report.EXCEPTION),
        "encoding": 0x222,
        "coded_char_set_id": 819,
        "format": "MQSTR",
        "msg_id": "414d51" + "0" * 42,
        "correl_id": "ab" * 24,
        "user_identifier": "omar",
        "group_id": "cd" * 24,
        "msg_seq_number": 7,
        "msg_flags": 8,
    }
    original = make_poison(
        backout_queue="BOQ",
        descriptor=before,
        reply_to="answers",
        priority=7,
        durable=False,
        message_id="ID:original",
        properties={"size": 3},
        expires_at=NOON + minutes(1),
    )
    moved = moved_to("BOQ", now=NOON + seconds(10))

    at = NOON + seconds(20)
    poisonous = replace(original, backout_count=1)
    was = Descriptor.of(poisonous, broker_name="BACKOUT", now=at)
    now = Descriptor.of(moved, broker_name="BACKOUT", now=at)
    changed = {
        name
        for name in Descriptor.__dataclass_fields__
        if getattr(was, name) != getattr(now, name)
    }
    assert changed == {"format", "coded_char_set_id", "encoding", "backout_count"}
    assert (now.format, now.coded_char_set_id, now.encoding) == ("MQHRF2", 1208, 273)
    assert (now.backout_count, now.expiry) == (0, 400)
    (rfh2,) = headers(moved)
    assert isinstance(rfh2, Rfh2)
    assert (rfh2.format, rfh2.coded_char_set_id, rfh2.encoding) == ("MQSTR", 819, 0x222)
    assert moved.properties == {"size": 3}
    assert moved.client_message_id == "ID:original"
    assert moved.body == original.body


@pytest.mark.spec("POISON-13")
def test_a_message_that_has_an_rfh2_keeps_it() -> None:
    header = Rfh2(encoding=273, coded_char_set_id=1208, format="MQSTR").to_bytes()
    make_poison(backout_queue="BOQ", descriptor={"format": "MQHRF2"}, headers=header)
    moved = moved_to("BOQ")
    assert moved.headers == header
    assert moved.expires_at is None


@pytest.mark.spec("POISON-13")
def test_a_message_without_a_msg_id_of_its_own_keeps_the_brokers() -> None:
    original = make_poison(backout_queue="BOQ")
    was = Descriptor.of(original, broker_name="BACKOUT", now=NOON)
    moved = Descriptor.of(moved_to("BOQ"), broker_name="BACKOUT", now=NOON)
    assert moved.msg_id == was.msg_id


@pytest.mark.spec("POISON-14", "MD-4", "UNIFY-5")
@pytest.mark.parametrize(
    ("backout_queue", "reason"), [("", 2362), ("nowhere", 2085), ("full", 2053)]
)
def test_on_the_dead_letter_queue_a_header_says_why(
    backout_queue: str, reason: int
) -> None:
    make_queue(DLQ)
    make_queue("full", max_depth=0)
    make_poison(backout_queue=backout_queue, descriptor={"format": "MQSTR"})
    moved = moved_to(DLQ, backout_queue=backout_queue)
    assert (moved.descriptor or {})["format"] == "MQDEAD"
    (header,) = headers(moved)
    assert isinstance(header, DeadLetterHeader)
    assert header.reason == reason
    assert (header.dest_q_name, header.dest_q_mgr_name) == ("orders", "BACKOUT")
    assert (header.format, header.put_date) == ("MQSTR", "20260314")
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.reason) == ("BACKOUT_THRESHOLD", reason)
    assert "_AMQ_ORIG_ADDRESS" not in moved.properties


@pytest.mark.spec("POISON-7")
def test_a_backout_queue_that_refuses_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue(DLQ)
    original = make_poison(backout_queue="nowhere")
    moved_to(DLQ, backout_queue="nowhere")
    (record,) = caplog.records
    text = record.getMessage()
    assert f"Message {original.message_id}" in text
    assert "'nowhere'" in text


@pytest.mark.spec("POISON-7")
def test_report_options_may_ask_for_the_bin() -> None:
    make_queue(DLQ)
    make_poison(descriptor={"report": int(Report.DISCARD_MSG)})
    take_away()
    bin_row = Discarded.objects.get()
    assert (bin_row.queue, bin_row.reason) == ("orders", 2362)
    assert Ready.objects.count() == 0
    assert fsck.violations() == []


@pytest.mark.spec("POISON-8", "POISON-9")
@pytest.mark.parametrize(
    ("last", "discarded", "found"), [(Last.DISCARD, 1, 0), (Last.RETURN, 0, 1)]
)
def test_what_has_no_place_is_discarded_or_returned_by_the_kind_of_receiver(
    last: Last, discarded: int, found: int
) -> None:
    make_poison()
    removal = take_away(last)
    assert removal == NoPlace(REACHED, UNKNOWN)
    assert Discarded.objects.count() == discarded
    again = UnitOfWork(now=NOON + minutes(1)).get("orders")
    assert [delivery.backout_count for delivery in again] == [1] * found


@pytest.mark.spec("ASF-11")
def test_a_connection_consumers_message_that_has_no_place_stays_in_hand() -> None:
    make_poison()
    work, delivery = got()
    work.remove_now(Removing(delivery, ""), last=Last.STOP)
    assert work.held == 1
    work.release(delivery)
    assert got()[1].backout_count == 1


@pytest.mark.spec("POISON-13")
def test_what_expires_is_not_moved() -> None:
    make_poison(backout_queue="BOQ", expires_at=NOON + minutes(1))
    assert UnitOfWork(now=NOON + minutes(1)).get("orders") == []


def test_the_story_tells_the_last_error() -> None:
    make_poison(backout_queue="BOQ")
    moved_to("BOQ")
    assert DeadLetter.objects.get().error == "ValueError: no"


# What the tests above are made with.


@pytest.fixture(autouse=True)
def _backout_queue() -> Iterator[None]:
    make_queue("BOQ")
    yield
    assert fsck.violations() == []


def make_poison(
    *, backout_queue: str = "", backouts: int = 1, **fields: Any
) -> Delivery:
    """A message on orders that was backed out; as it was at its first delivery."""
    make_queue("orders", backout_threshold=1, backout_queue=backout_queue)
    put("orders", b"x", now=NOON, **fields)
    first = back_out()
    for _ in range(backouts - 1):
        back_out()
    return first


def back_out() -> Delivery:
    work, delivery = got()
    work.back_out("ValueError: no")
    return delivery


def got() -> tuple[UnitOfWork, Delivery]:
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")
    return work, delivery


def take_away(
    last: Last = Last.DISCARD, *, backout_queue: str = "", now: Any = NOON
) -> Removal:
    work = UnitOfWork(now=now)
    (delivery,) = work.get("orders")
    removal = work.remove_now(Removing(delivery, backout_queue), last=last)
    work.commit()
    return removal


def moved_to(queue: str, *, backout_queue: str = "BOQ", now: Any = NOON) -> Delivery:
    take_away(backout_queue=backout_queue, now=now)
    (moved,) = UnitOfWork(now=now + timedelta(seconds=1)).get(queue)
    return moved


def headers(delivery: Delivery) -> tuple[Any, ...]:
    chain = chain_of(
        delivery.descriptor, delivery.content_type, delivery.headers or b""
    )
    assert chain.error is None
    return chain.headers


@pytest.mark.spec("MD-4")
def test_a_resubmitted_dead_letter_is_as_it_was_before() -> None:
    make_queue(DLQ)
    before = {"format": "MQSTR", "encoding": 0x222, "coded_char_set_id": 819}
    original = make_poison(
        descriptor=before, properties={"size": 3}, expires_at=NOON + minutes(9)
    )
    take_away()
    at = NOON
    start(plan(), now=at)
    again = got()[1]
    was = Descriptor.of(original, broker_name="BACKOUT", now=at)
    assert Descriptor.of(again, broker_name="BACKOUT", now=at) == was
    assert (again.headers, again.expires_at) == (None, NOON + minutes(9))
    assert again.properties == {"size": 3, "_BRK_RESUBMIT_COUNT": 1}
