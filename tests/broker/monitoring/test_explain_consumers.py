"""Who is known to consume a queue, and what is said where nobody is."""

from __future__ import annotations

import pytest

from broker.models import (
    ClientConnection,
    ClientEndpoint,
    Owner,
    Queue,
    Subscription,
)
from broker.monitoring.explain import explain
from broker.queueing import delayed, processes
from broker.settlement.batch import settle
from broker.settlement.outcomes import BackOut, Release
from broker.transactions.prefetch import Prefetched
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.broker.explaining import codes, consumer, sent
from tests.broker.taking_ahead import of
from tests.make import NOON, make_queue, minutes


@pytest.mark.django_db
def test_where_no_consumer_is_known_it_is_said_how_little_that_means(
    orders: Queue,
) -> None:
    (one,) = explain(sent())

    assert one.code == "no-consumer"
    assert "No dispatcher runs" in one.sentence
    assert "is known only while it holds a message" in one.remedy


def test_a_consumer_of_a_process_that_died_is_none(elsewhere: Elsewhere) -> None:
    consumer(make_queue("orders"))
    message_id = sent()
    assert codes(explain(message_id)) == ["next"]

    processes.resign()

    assert codes(explain(message_id)) == ["no-consumer"]


def test_a_dispatcher_without_a_handler_for_the_queue_is_said(
    elsewhere: Elsewhere,
) -> None:
    make_queue("orders")
    message_id = sent()
    processes.resign()
    processes.current("dispatcher")

    (one,) = explain(message_id)

    assert "A dispatcher runs, but no handler for orders" in one.sentence


@pytest.mark.django_db
def test_who_holds_a_message_of_the_queue_or_subscribes_is_known(
    orders: Queue,
) -> None:
    held, message_id = sent(), sent()
    UnitOfWork().get("orders")
    assert codes(explain(message_id)) == ["next"]
    assert codes(explain(held)) == ["locked"]

    answers = make_queue("answers")
    message_id = sent("answers")
    assert codes(explain(message_id)) == ["no-consumer"]
    Subscription.objects.create(
        address=answers.address,
        durable=False,
        queue=answers,
        owner_id=processes.current(),
    )
    assert codes(explain(message_id)) == ["next"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "refuses",
    [
        Release(minutes(1), "It has no van.", hidden=True),
        BackOut("It has no van.", minutes(1), hidden=True),
    ],
)
def test_what_its_consumer_cannot_deliver_says_so_until_another_takes_it(
    orders: Queue, refuses: Release | BackOut
) -> None:
    consumer(orders)
    message_id = sent(now=NOON)
    (got,) = Prefetched(orders, actor="shop").get(1, now=NOON)

    settle([of(refuses, got, actor="shop")], now=NOON)
    delayed.wake_due(limit=1, now=NOON + minutes(1))

    (one,) = explain(message_id)
    assert one.code == "undeliverable-here"
    assert one.sentence.startswith("shop had it from orders, and gave it back: It has")
    assert "Attach another consumer" in one.remedy
    assert one.details["actor"] == "shop"
    UnitOfWork().get("orders")
    assert codes(explain(message_id)) == ["locked"]


@pytest.mark.django_db
def test_what_was_merely_given_back_stands_in_nobody_s_way(orders: Queue) -> None:
    consumer(orders)
    message_id = sent()
    (got,) = Prefetched(orders).get(1)

    settle([of(Release(why="Its process ended."), got)])

    assert codes(explain(message_id)) == ["next"]


@pytest.mark.django_db
def test_a_client_that_gets_is_known_while_its_listener_lives(orders: Queue) -> None:
    message_id = sent()
    gone = Owner.objects.create(
        id=2**31 - 1, kind="listener", host="gate", pid=77, started_at=NOON
    )
    client = ClientConnection.objects.create(owner_id=gone.pk, is_encrypted=False)
    client.endpoints.create(
        queue=orders, node="orders", kind=ClientEndpoint.Kind.GETS, session=0
    )
    assert codes(explain(message_id)) == ["no-consumer"]

    client.owner_id = processes.current()
    client.save(update_fields=["owner_id"])
    assert codes(explain(message_id)) == ["next"]

    client.endpoints.update(kind=ClientEndpoint.Kind.BROWSES)
    assert codes(explain(message_id)) == ["no-consumer"]


@pytest.mark.django_db
def test_selectors_that_do_not_match_are_named(orders: Queue) -> None:
    consumer(orders, "colour = 'red'", handler="shop.red")
    consumer(orders, "JMSPriority > 7 AND JMSXDeliveryCount = 1", handler="shop.urgent")
    blue = sent(properties={"colour": "blue"})

    (one,) = explain(blue)

    assert one.code == "no-matching-selector"
    assert "shop.red (colour = 'red'); shop.urgent (JMSPriority > 7" in one.sentence
    assert one.details["selectors"]["shop.red"] == "colour = 'red'"
    assert "no-matching-selector" not in codes(explain(sent(priority=8)))
    red = sent(properties={"colour": "red"})
    assert "no-matching-selector" not in codes(explain(red))
    consumer(orders, retains_unwanted=True, handler="shop.rest")
    assert "no-matching-selector" not in codes(explain(blue))


@pytest.mark.django_db
def test_what_is_unwanted_and_will_be_put_away_says_so(orders: Queue) -> None:
    consumer(orders, "colour = 'red'", retains_unwanted=False)

    (one,) = explain(sent(properties={"colour": "blue"}))

    assert one.code == "no-matching-selector"
    assert "dead-letters unwanted messages" in one.remedy
