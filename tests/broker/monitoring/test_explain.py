"""Why a message is not being delivered, told from what is true in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from broker.models import (
    Claim,
    Delayed,
    Event,
    Message,
    Queue,
    Ready,
    RoutingType,
    Stoppage,
)
from broker.monitoring.explain import COUNTED, explain
from broker.queueing import delayed, processes
from broker.queueing.put import NewMessage, put_many
from broker.settlement import expiry
from broker.transactions import prepared
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.broker.explaining import codes, consumer, sent
from tests.make import NOON, make_queue, make_setting, minutes, seconds


@pytest.mark.django_db
def test_nothing_stands_in_the_way_of_the_first_of_a_queue_with_a_consumer(
    orders: Queue,
) -> None:
    consumer(orders)

    (one,) = explain(sent())

    assert (one.queue, one.code) == ("orders", "next")
    assert one.sentence == (
        "Nothing stands in its way on orders: the next get takes it."
    )


@pytest.mark.django_db
def test_of_a_message_that_nobody_remembers_nothing_is_said(orders: Queue) -> None:
    assert explain(10**9) == []


@pytest.mark.django_db
@pytest.mark.spec("ADMIN-5")
def test_a_paused_queue_is_named_with_what_to_do(orders: Queue) -> None:
    consumer(orders)
    message_id = sent()
    Queue.objects.update(paused=True)

    (one,) = explain(message_id)

    assert one.code == "paused"
    assert (
        one.sentence == "Queue orders is paused: it accepts messages and delivers none."
    )
    assert one.remedy == "Resume it under Queues."


@pytest.mark.django_db
def test_several_reasons_stand_in_the_order_in_which_they_are_solved(
    orders: Queue,
) -> None:
    put_many([NewMessage("orders")] * 2, now=NOON)
    message_id = sent(expires_at=NOON + seconds(5), now=NOON)
    Queue.objects.update(paused=True, stopped=True)
    Stoppage.objects.create(
        queue=orders, message_id=1, reason=2053, why="The dead letter queue is full."
    )

    found = explain(message_id, now=NOON + seconds(6))

    assert codes(found) == [
        "paused",
        "stopped",
        "expired",
        "no-consumer",
        "put-behind",
    ]
    assert "has stopped. The dead letter queue is full." in found[1].sentence
    assert found[2].details == {"expired_at": NOON + seconds(5)}
    assert codes(explain(message_id, now=NOON + seconds(4)))[2] == "no-consumer"


@pytest.mark.django_db
def test_what_waits_says_until_when_and_after_how_many_backouts(orders: Queue) -> None:
    make_setting(redelivery_delay_ms=60_000)
    consumer(orders)
    message_id = sent(now=NOON)
    for n in range(2):
        delayed.wake_due(limit=10, now=NOON + minutes(n))
        with unit_of_work(now=NOON + minutes(n)) as work:
            work.get("orders")
            work.back_out("ValueError: no")

    (one,) = explain(message_id, now=NOON + seconds(90))

    assert one.code == "due-later"
    assert one.sentence == (
        "It was backed out 2 times. It waits on orders until it is due."
    )
    assert one.details == {"until": NOON + minutes(2)}
    (one,) = explain(message_id, now=NOON + minutes(2))
    assert one.sentence.endswith("It waited on orders, and is due.")


@pytest.mark.django_db
def test_what_a_consumer_holds_says_who_since_when_and_until_when(
    orders: Queue,
) -> None:
    message_id = sent(now=NOON)
    work = UnitOfWork(actor="shop.handle", now=NOON)
    work.get("orders")

    (one,) = explain(message_id, now=NOON + seconds(1))

    assert one.code == "locked"
    assert f"has it, in unit of work {work.id}." in one.sentence
    assert one.details["actor"] == "shop.handle"
    assert one.details["uow"] == work.id
    assert one.details["started_at"] == NOON
    assert one.details["until"] == NOON + timedelta(seconds=300)
    assert (
        str(processes._current.pid if processes._current else "")
        in one.details["holder"]
    )
    (late,) = explain(message_id, now=NOON + timedelta(seconds=300))
    assert "for longer than it may" in late.sentence


def test_a_holder_that_died_is_told_from_one_that_lives(elsewhere: Elsewhere) -> None:
    make_queue("orders")
    message_id = sent()
    work = UnitOfWork()
    work.get("orders")
    assert "A consumer of orders has it" in explain(message_id)[0].sentence

    processes.resign()

    (one,) = explain(message_id)
    assert one.code == "locked"
    assert "The process that had it on orders has ended" in one.sentence


def test_what_an_open_transaction_took_is_not_taken_for_ready(
    elsewhere: Elsewhere,
) -> None:
    make_queue("orders")
    message_id = sent()
    elsewhere.begin()
    elsewhere(UnitOfWork(actor="joined").get, "orders")

    (one,) = explain(message_id)

    assert one.code == "locked"
    assert "in a database transaction that is still open" in one.sentence
    assert one.details["holder"].startswith("server process ")
    assert one.details["started_at"] <= timezone.now()
    elsewhere.roll_back()
    assert codes(explain(message_id)) == ["no-consumer"]


@pytest.mark.django_db
def test_what_is_prepared_names_its_coordinator(orders: Queue) -> None:
    message_id = sent()
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    prepared.prepare(work, "bank-1")

    (one,) = explain(message_id)

    assert one.code == "prepared"
    assert (one.details["xid"], one.details["uow"]) == ("bank-1", work.id)
    assert "under Health" in one.remedy


@pytest.mark.django_db
def test_what_stands_before_it_is_counted_by_the_order_of_gets(orders: Queue) -> None:
    consumer(orders)
    sent(priority=3)
    sent(priority=9)
    second = sent(priority=4)
    back = sent(priority=4)
    with unit_of_work() as work:
        work.get("orders", 3)
        work.back_out("no")
    sent(priority=4)

    (one,) = explain(second)
    assert one.code == "put-behind"
    assert one.sentence.startswith("1 message stands before it on orders")
    assert explain(back)[0].details == {"before": 2, "is_more": False}


@pytest.mark.django_db
def test_beyond_a_thousand_it_is_more_than_a_thousand(orders: Queue) -> None:
    consumer(orders)
    message_id = sent(priority=0)
    put_many([NewMessage("orders")] * (COUNTED - 1))
    sent(priority=0)
    assert explain(message_id)[0].details == {"before": COUNTED - 1, "is_more": False}
    put_many([NewMessage("orders")] * 2)

    (one,) = explain(message_id)

    assert one.sentence.startswith("More than 1,000 messages stand before it")
    assert one.details == {"before": COUNTED, "is_more": True}


@pytest.mark.django_db
def test_each_queue_of_a_multicast_message_is_told_apart(db: None) -> None:
    for name in ("mail", "print"):
        queue = make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
        consumer(queue)
    message_id = sent("news")
    with unit_of_work(actor="shop.post") as work:
        work.get("mail")

    found = explain(message_id)

    assert {one.queue: one.code for one in found} == {
        "print": "next",
        "mail": "accepted",
    }
    assert found[1].sentence == "It was accepted on mail."
    assert found[1].details["actor"] == "shop.post"


@pytest.mark.django_db
def test_an_end_says_what_became_of_it(orders: Queue) -> None:
    make_setting(max_delivery_attempts=1, dead_letter_address="DLA")
    make_queue("DLQ", address="DLA")
    message_id = sent()
    with unit_of_work() as work:
        work.get("orders")
        work.back_out("ValueError: no")

    (one,) = explain(message_id)

    letter = Ready.objects.get().id
    assert one.code == "dead-lettered"
    assert one.sentence == "It was dead-lettered on orders and continues as a copy."
    assert one.remedy == "See its newest copy."
    assert one.details["became"] == letter
    (one,) = explain(letter)
    assert one.code == "dead-letter"
    assert one.remedy == "Fix the cause, then resubmit it to orders."


@pytest.mark.django_db
def test_other_ends_have_their_own_codes(orders: Queue) -> None:
    make_setting(max_delivery_attempts=1)
    dropped = sent(now=NOON)
    with unit_of_work(now=NOON) as work:
        work.get("orders")
        work.back_out("ValueError: no")
    late = sent(expires_at=NOON + seconds(1), now=NOON)
    expiry.expire(limit=10, now=NOON + seconds(2))

    (discarded,), (expired,) = explain(dropped), explain(late)

    assert (discarded.code, expired.code) == ("discarded", "expired")
    assert discarded.sentence == (
        "It was discarded on orders: no dead letter address is set."
    )
    assert expired.sentence == "It expired on orders."
    assert "discard bin" in discarded.remedy


@pytest.mark.django_db
def test_what_the_journal_has_forgotten_is_gone(orders: Queue) -> None:
    message_id = sent()
    with unit_of_work() as work:
        work.get("orders")
    Event.objects.all().delete()

    (one,) = explain(message_id)

    assert one.code == "gone"


@pytest.mark.django_db
def test_looking_changes_nothing_and_costs_five_queries_at_most(
    orders: Queue, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    consumer(orders, "colour = 'red'")
    message_id = sent()
    before = everything()

    with django_assert_max_num_queries(5):
        explain(message_id)

    assert everything() == before


def everything() -> list[list[Any]]:
    tables: list[Any] = [Ready, Delayed, Claim, Event, Message]
    return [list(model._default_manager.order_by("pk").values()) for model in tables]
