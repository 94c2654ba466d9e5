"""What becomes of a message whose deliveries are used up."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from broker.models import (
    AddressSetting,
    DeadLetter,
    Kind,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import counters, fsck
from broker.queueing import delayed, journal
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import ERROR, back_out
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db


@pytest.mark.spec("DLA-2", "UOW-2")
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_limit_of_n_is_n_deliveries(limit: int) -> None:
    _, dlq = make_queues(max_delivery_attempts=limit)
    put("orders", now=NOON)

    seen = [delivery.backout_count for delivery in deliver_until_gone()]

    assert seen == list(range(limit))
    assert count(dlq) == 1


@pytest.mark.spec("DLA-1")
def test_where_nothing_is_set_ten_deliveries_are_the_limit() -> None:
    make_queue("orders")
    put("orders", now=NOON)
    assert len(deliver_until_gone()) == 10
    assert not Ready.objects.exists()


@pytest.mark.spec("DLA-1")
@pytest.mark.parametrize("no_limit", [-1, 0])
def test_minus_one_is_no_limit(no_limit: int) -> None:
    orders, dlq = make_queues(max_delivery_attempts=no_limit)
    put("orders", now=NOON)

    for _ in range(50):
        back_out()
    assert (count(orders), count(dlq)) == (1, 0)
    assert Ready.objects.get().backout_count == 50


@pytest.mark.spec("DLA-1")
def test_a_limit_below_minus_one_means_nothing_and_is_refused() -> None:
    with pytest.raises(ValidationError, match="cannot be below -1"):
        AddressSetting(match="orders", max_delivery_attempts=-2).full_clean()


@pytest.mark.spec("DLA-6")
def test_one_address_may_be_without_limit_where_all_others_have_one() -> None:
    orders, dlq = make_queues("#", max_delivery_attempts=3)
    make_setting("orders", max_delivery_attempts=-1)
    put("orders", now=NOON)

    for _ in range(5):
        back_out()

    assert (count(orders), count(dlq)) == (1, 0)


@pytest.mark.spec("DLA-3")
def test_without_a_dead_letter_address_it_is_discarded_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    orders = make_queue("orders")
    make_setting("orders", max_delivery_attempts=1)
    message_id = put("orders", now=NOON).message_id

    back_out()

    assert not Ready.objects.exists()
    (said,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "no dead letter address is set" in said.getMessage()
    assert journal.depths()[orders.pk].done[Kind.DISCARD] == 1
    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.went_to) == (Kind.DISCARD, None)
    assert last.detail["error"] == ERROR
    assert last.detail["why"] == "no dead letter address is set"


@pytest.mark.spec("DLA-3")
def test_a_dead_letter_address_without_a_queue_discards_with_its_own_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue("orders")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    message_id = put("orders", now=NOON).message_id

    back_out()

    assert "'DLA' feeds no queue" in caplog.text
    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.detail["to"]) == (Kind.DISCARD, "DLA")


def test_a_dead_letter_that_nobody_takes_does_not_stop_the_sweep_of_others() -> None:
    orders, _ = make_queues(max_delivery_attempts=2)
    make_queue("lost")
    make_setting("lost", max_delivery_attempts=1, dead_letter_address="nowhere")
    for queue in ("lost", "orders"):
        put(queue, now=NOON)
        UnitOfWork(now=NOON).get(queue)

    swept = settle.back_out_overdue(limit=10, now=NOON + minutes(6))

    assert swept == 2
    assert count(orders) == 1
    assert fsck.violations() == []


def test_a_queue_that_was_deleted_does_not_stop_the_sweep_of_others() -> None:
    orders, _ = make_queues(max_delivery_attempts=2)
    doomed = make_queue("doomed")
    for queue in ("doomed", "orders"):
        put(queue, now=NOON)
        UnitOfWork(now=NOON).get(queue)
    doomed.delete()

    settle.back_out_overdue(limit=10, now=NOON + minutes(6))

    assert count(orders) == 1


@pytest.mark.spec("DLA-4", "DLA-5")
def test_a_dead_letter_is_a_copy_with_all_that_its_original_had() -> None:
    make_queues(max_delivery_attempts=1)
    receipt = put(
        "orders",
        b"<order/>",
        content_type="application/xml",
        properties={"customer": 17, "vip": True, "rate": 0.5},
        priority=7,
        durable=False,
        expires_at=NOON + minutes(60),
        message_id="ID:1",
        correlation_id="c-1",
        reply_to="replies",
        subject="order",
        group_id="g-1",
        producer="web",
        routing_type=RoutingType.ANYCAST,
        now=NOON,
    )
    back_out()
    original = Message.objects.get(pk=receipt.message_id)

    (delivery,) = UnitOfWork(now=NOON).get("DLQ")

    copy = Message.objects.get(pk=delivery.message_id)
    changed = {"id", "address", "expires_at", "copied_from", "first_id", "routing_type"}
    same = {field.name for field in Message._meta.fields} - changed - {"properties"}
    assert {name: getattr(copy, name) for name in same} == {
        name: getattr(original, name) for name in same
    }
    assert {name: getattr(copy, name) for name in changed - {"id"}} == {
        "address": "DLA",
        "expires_at": None,
        "copied_from": original.pk,
        "first_id": original.pk,
        "routing_type": None,
    }
    assert copy.pk > original.pk
    assert copy.properties.items() >= original.properties.items()
    assert (delivery.backout_count, delivery.delivery_count) == (0, 1)


@pytest.mark.spec("COPY-1", "COPY-4")
def test_a_dead_letter_says_whence_it_came_and_why() -> None:
    make_queue("EU.orders", address="orders", routing_type=RoutingType.MULTICAST)
    make_queues(max_delivery_attempts=2, queue=None)
    receipt = put("orders", routing_type=RoutingType.MULTICAST, now=NOON)
    back_out("EU.orders", at=1)
    back_out("EU.orders", at=2)

    (delivery,) = UnitOfWork(now=NOON).get("DLQ")

    assert delivery.properties == {
        "_AMQ_ORIG_ADDRESS": "orders",
        "_AMQ_ORIG_QUEUE": "EU.orders",
        "_AMQ_ORIG_MESSAGE_ID": str(receipt.message_id),
        "_AMQ_ORIG_ROUTING_TYPE": 0,
        "_BRK_DEATH_REASON": "MAX_DELIVERY_ATTEMPTS",
        "_BRK_DEATH_COUNT": 2,
        "_BRK_DEATH_TIME": milliseconds(NOON + minutes(2)),
    }
    assert all(type(value) in (str, int) for value in delivery.properties.values())


@pytest.mark.spec("COPY-1")
def test_no_routing_type_is_told_where_the_message_carried_none() -> None:
    make_queues(max_delivery_attempts=1)
    put("orders", now=NOON)
    back_out()
    (delivery,) = UnitOfWork(now=NOON).get("DLQ")
    assert "_AMQ_ORIG_ROUTING_TYPE" not in delivery.properties
    assert "_AMQ_ACTUAL_EXPIRY" not in delivery.properties


@pytest.mark.spec("DLA-4")
def test_every_multicast_queue_of_the_dead_letter_address_gets_it() -> None:
    _, dlq = make_queues(max_delivery_attempts=1)
    takers = [
        make_queue(name, address="DLA", routing_type=RoutingType.MULTICAST)
        for name in ("alarms", "archive")
    ]
    put("orders", now=NOON)

    back_out()

    (copy,) = Message.objects.filter(address="DLA")
    everywhere = {dlq.pk, *(queue.pk for queue in takers)}
    assert (
        set(Ready.objects.filter(id=copy.pk).values_list("queue_id", flat=True))
        == everywhere
    )
    letters = DeadLetter.objects.filter(message_id=copy.pk)
    assert {letter.queue_id for letter in letters} == everywhere
    assert fsck.violations() == []


@pytest.mark.spec("DLA-4")
def test_one_anycast_queue_of_the_dead_letter_address_gets_it() -> None:
    _, dlq = make_queues(max_delivery_attempts=1)
    second = make_queue("DLQ.2", address="DLA")
    put_many(make_messages(6), now=NOON)
    for _ in range(6):
        back_out()
    assert (count(dlq), count(second)) == (3, 3)


@pytest.mark.spec("DLA-8")
def test_an_address_is_refused_as_its_own_dead_letter_address() -> None:
    with pytest.raises(ValidationError, match="its own dead letter"):
        AddressSetting(match="DLA", dead_letter_address="DLA").full_clean()
    AddressSetting(match="#", dead_letter_address="DLA").full_clean()


@pytest.mark.spec("DLA-8")
def test_what_fails_on_the_dead_letter_address_itself_stays_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, dlq = make_queues("#", max_delivery_attempts=1)
    put("orders", now=NOON)
    back_out()
    for at in range(3):
        assert back_out("DLQ", at=at)
        due = [delayed.wake_due(limit=9, now=NOON + minutes(at + n)) for n in (0.99, 1)]
        assert due == [0, 1]
    assert (count(dlq), Message.objects.filter(address="DLA").count()) == (1, 1)
    assert Ready.objects.get().backout_count == 3
    assert caplog.text.count("stays there") == 1
    assert counters.counted(dlq.pk).messages_killed == 0


@pytest.mark.spec("DLA-7")
def test_what_died_together_arrives_in_its_old_order() -> None:
    make_queues(max_delivery_attempts=1)
    put_many(make_messages(300), now=NOON)

    back_out(limit=300)

    bodies = [delivery.body for delivery in UnitOfWork(now=NOON).get("DLQ", 300)]
    assert bodies == [str(number).encode() for number in range(1, 301)]


@pytest.mark.spec("UOW-2")
def test_what_dies_and_what_comes_back_of_one_unit_of_work_part_ways() -> None:
    orders, dlq = make_queues(max_delivery_attempts=2)
    put("orders", b"old", now=NOON)
    back_out()
    put("orders", b"new", now=NOON)

    back_out(limit=2)

    assert (count(orders), count(dlq)) == (1, 1)
    (delivery,) = UnitOfWork(now=NOON).get("DLQ")
    assert delivery.body == b"old"


@pytest.mark.parametrize(
    "error", ["", "\x00", "\ud800", "'; --", "x" * 100_000, "\n\n", "{}", "%(error)s"]
)
def test_any_error_text_can_be_written_down(error: str) -> None:
    """A consumer may put what it could not read into what it raises."""
    orders, dlq = make_queues(max_delivery_attempts=2)
    put("orders", now=NOON)

    back_out(error=error)
    back_out(error=error)

    assert (count(orders), count(dlq)) == (0, 1)
    assert len(DeadLetter.objects.get().error) <= 1000


@pytest.mark.parametrize("hostile", ["many", 1.5, None, {"a": 1}, 2**40, True])
def test_a_sender_cannot_make_its_message_immortal_by_its_properties(
    hostile: object,
) -> None:
    _, dlq = make_queues(max_delivery_attempts=1)
    names = ("_BRK_RESUBMIT_COUNT", "_AMQ_ORIG_ROUTING_TYPE", "_BRK_DEATH_COUNT")
    put("orders", properties=dict.fromkeys(names, hostile), now=NOON)

    back_out()

    assert count(dlq) == 1


def make_queues(
    match: str = "orders", *, queue: str | None = "orders", **setting: Any
) -> tuple[Queue, Queue]:
    """A queue, its dead letter queue, and what is set for both."""
    orders = make_queue(queue) if queue else Queue.objects.get()
    make_setting(match, dead_letter_address="DLA", **setting)
    return orders, make_queue("DLQ", address="DLA")


def deliver_until_gone() -> list[Delivery]:
    seen: list[Delivery] = []
    while len(seen) < 20 and (deliveries := back_out()):
        seen += deliveries
    return seen


def count(queue: Queue) -> int:
    return Ready.objects.filter(queue_id=queue.pk).count()


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
