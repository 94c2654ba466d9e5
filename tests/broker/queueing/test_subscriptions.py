"""Subscriptions: their managed queues, where those come from, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker import tasks
from broker.errors import NoSuchAddress
from broker.errors.messages import InvalidSelector
from broker.errors.mq_codes import Reason
from broker.errors.queues import NoModelQueue, NoSuchSubscription, SubscriptionInUse
from broker.models import (
    Address,
    ConnectionConsumer,
    Kind,
    ModelQueue,
    Owner,
    Queue,
    Ready,
    RoutingType,
    Subscription,
)
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.put import put, put_many
from broker.queueing.subscriptions import end_dead, subscribe, unsubscribe
from broker.settlement import poison
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_messages, make_queue, seconds

NOBODY = 2**31 - 1  # an owner that never was


@pytest.fixture
def news(db: None) -> Address:
    return Address.objects.create(name="news")


def durable(name: str = "mine", **fields: Any) -> Subscription:
    known: dict[str, Any] = {"client_id": "app", "owner": processes.current()}
    return subscribe("news", durable=True, name=name, **known | fields)


def passing(of: int | None = None, selector: str = "") -> Subscription:
    """One that is not durable."""
    owner = of or processes.current()
    return subscribe("news", durable=False, owner=owner, selector=selector)


def bodies(queue: Queue) -> list[bytes]:
    with unit_of_work() as work:
        return [one.body for one in work.get(queue.name, 9)]


@pytest.mark.spec("POISON-11")
@pytest.mark.parametrize(
    ("subscribe_so", "model", "name"),
    [
        (durable, "SYSTEM.DURABLE.MODEL.QUEUE", "SYSTEM.MANAGED.DURABLE."),
        (passing, "SYSTEM.NDURABLE.MODEL.QUEUE", "SYSTEM.MANAGED.NDURABLE."),
    ],
)
def test_a_managed_queue_is_a_copy_of_its_model(
    news: Address, subscribe_so: Callable[[], Subscription], model: str, name: str
) -> None:
    models = ModelQueue.objects.filter(name=model)
    models.update(backout_threshold=5, backout_queue="news.back", max_depth=100)
    queue = subscribe_so().queue

    models.update(backout_threshold=9, backout_queue="")  # later, and so for others

    queue = Queue.objects.get(pk=queue.pk)
    assert queue.name.startswith(name)
    assert queue.kind == Queue.Kind.MANAGED
    assert queue.routing_type == RoutingType.MULTICAST
    assert queue.max_depth == 100
    assert poison.attributes_of(queue.name) == (
        poison.Attributes(queue.name, 5, "news.back")
    )


@pytest.mark.spec("POISON-11")
def test_an_address_can_name_other_models(news: Address) -> None:
    ModelQueue.objects.create(name="kept", permanent=True, backout_threshold=1)
    ModelQueue.objects.create(name="lost", backout_threshold=2)
    Address.objects.update(durable_model="kept", nondurable_model="lost")

    assert durable().queue.backout_threshold == 1
    assert passing().queue.backout_threshold == 2


@pytest.mark.spec("POISON-11")
@pytest.mark.parametrize("subscribe_so", [durable, passing])
def test_without_its_model_nothing_is_subscribed(
    news: Address, subscribe_so: Callable[[], Subscription]
) -> None:
    ModelQueue.objects.all().delete()

    with pytest.raises(NoModelQueue) as refusal:
        subscribe_so()

    assert refusal.value.reason == Reason.INVALID_DESTINATION
    assert int(refusal.value.reason) == 2522
    assert not Queue.objects.exists()


@pytest.mark.spec("POISON-11")
def test_a_durable_subscription_needs_a_permanent_model(news: Address) -> None:
    ModelQueue.objects.update(permanent=False)
    with pytest.raises(NoModelQueue):
        durable()
    passing()

    ModelQueue.objects.update(permanent=True)
    durable()
    passing()


def test_a_subscription_needs_an_address_and_a_durable_one_a_name(
    news: Address,
) -> None:
    with pytest.raises(NoSuchAddress):
        subscribe("nothing", durable=False, owner=processes.current())
    with pytest.raises(ValueError, match="needs a name"):
        durable("")


def test_each_subscription_gets_each_message_from_when_it_was_made(
    news: Address,
) -> None:
    kept, lost = durable().queue, passing().queue
    put("news", b"1")
    late = passing().queue
    put("news", b"2")

    assert bodies(kept) == [b"1", b"2"]
    assert bodies(lost) == [b"1", b"2"]
    assert bodies(late) == [b"2"]


def test_a_subscription_with_a_selector_gets_what_that_matches(news: Address) -> None:
    all_of_it, some = passing().queue, passing(selector="colour = 'red'").queue
    for number, colour in enumerate(("red", "blue", "red", None)):
        properties = {} if colour is None else {"colour": colour}
        put("news", str(number).encode(), properties=properties)

    assert bodies(all_of_it) == [b"0", b"1", b"2", b"3"]
    assert bodies(some) == [b"0", b"2"]


def test_a_selector_that_cannot_be_read_is_refused(news: Address) -> None:
    with pytest.raises(InvalidSelector):
        passing(selector="colour = ")

    assert not Queue.objects.exists()


def test_a_durable_subscription_is_taken_up_again_with_what_it_kept(
    news: Address,
) -> None:
    first = durable(selector="JMSPriority > 3")
    put("news", b"while away")

    again = durable(selector="JMSPriority > 3")

    assert again == first
    assert bodies(again.queue) == [b"while away"]


def test_names_of_durable_subscriptions_are_their_clients_own(news: Address) -> None:
    assert durable(client_id="app") != durable(client_id="other")
    assert durable("mine") != durable("yours")


@pytest.mark.parametrize("what", ["selector", "topic"])
def test_a_durable_subscription_with_another_topic_or_selector_begins_anew(
    news: Address, what: str
) -> None:
    Address.objects.create(name="weather")
    first = durable()
    put("news", b"lost")

    if what == "selector":
        second = durable(selector="JMSPriority > 3")
    else:
        second = subscribe(
            "weather",
            durable=True,
            client_id="app",
            name="mine",
            owner=processes.current(),
        )

    assert second.queue_id != first.queue_id
    assert bodies(second.queue) == []
    assert Queue.objects.count() == Subscription.objects.count() == 1
    assert journal.depths()[first.queue_id].done[Kind.DISCARD] == 1


def test_what_lies_on_its_queue_ends_with_a_subscription(news: Address) -> None:
    queue = durable().queue
    put("news", now=NOON)
    later = make_messages(1, "news", deliver_at=NOON + seconds(9))
    (receipt,) = put_many(later, now=NOON)

    unsubscribe("app", "mine", actor="vera", now=NOON)

    assert not Queue.objects.exists()
    assert not Subscription.objects.exists()
    depth = journal.depths()[queue.pk]
    assert (depth.total, depth.done[Kind.DISCARD]) == (0, 2)
    end = journal.lifeline(receipt.message_id)[-1]
    assert (end.kind, end.actor) == (Kind.DISCARD, "vera")
    assert end.detail["why"] == "Its subscription has ended."
    assert fsck.violations() == []


def test_nobody_unsubscribes_from_what_there_is_not(news: Address) -> None:
    durable()
    passing()
    for client_id, name in (("app", "yours"), ("other", "mine"), ("app", "")):
        with pytest.raises(NoSuchSubscription):
            unsubscribe(client_id, name)


def test_a_subscription_is_not_ended_under_its_consumer(news: Address) -> None:
    """JMS 2.0: not while a consumed message is part of a transaction."""
    queue = durable().queue
    put("news", b"1")
    work = UnitOfWork()
    work.get(queue.name)

    with pytest.raises(SubscriptionInUse):
        unsubscribe("app", "mine")
    with pytest.raises(SubscriptionInUse):
        durable(selector="JMSPriority > 3")

    assert durable().queue == queue  # the same again is no change
    work.back_out("not yet")
    unsubscribe("app", "mine")


def test_a_subscription_is_not_ended_under_its_connection_consumer(
    news: Address,
) -> None:
    queue = durable().queue
    consumer = ConnectionConsumer.objects.create(
        owner_id=processes.current(), queue=queue, handler="h", server_sessions=1
    )
    with pytest.raises(SubscriptionInUse):
        unsubscribe("app", "mine")

    consumer.owner_id = NOBODY  # it died, and its row is still there
    consumer.save()
    unsubscribe("app", "mine")


def test_subscriptions_that_are_not_durable_end_with_their_process(
    news: Address,
) -> None:
    kept, own, lost = durable(), passing(), passing(of=NOBODY)
    put_many(make_messages(7, "news"))

    assert end_dead(limit=5)  # a batch
    assert Subscription.objects.count() == 3
    assert end_dead(limit=5)
    assert not end_dead(limit=5)

    assert {*Subscription.objects.all()} == {kept, own}
    assert {*Queue.objects.all()} == {kept.queue, own.queue}
    assert journal.depths()[lost.queue_id].done[Kind.DISCARD] == 7
    assert len(bodies(kept.queue)) == len(bodies(own.queue)) == 7
    assert fsck.violations() == []


def test_housekeeping_backs_out_a_dead_process_and_ends_its_subscriptions(
    transactional_db: None,
) -> None:
    Address.objects.create(name="news")
    queue = passing().queue
    put_many(make_messages(3, "news"))
    UnitOfWork().get(queue.name, 2)

    processes.resign()  # as if it had died
    tasks.back_out_overdue()

    assert not Owner.objects.exists()
    assert not Queue.objects.exists()
    assert not Ready.objects.exists()
    depth = journal.depths()[queue.pk]
    assert (depth.total, depth.done[Kind.BACK_OUT]) == (0, 2)
    assert depth.done[Kind.DISCARD] == 3
    assert fsck.violations() == []


def test_a_queue_in_somebody_elses_unit_of_work_stays_until_that_ends(
    news: Address,
) -> None:
    queue = passing(of=NOBODY).queue
    put("news", b"1")
    work = UnitOfWork()
    work.get(queue.name)
    assert not end_dead(limit=5)
    work.commit()
    assert end_dead(limit=5)
    assert not Queue.objects.exists()


def test_what_is_put_while_a_queue_is_removed_ends_afterwards(
    elsewhere: Elsewhere,
) -> None:
    Address.objects.create(name="news")
    make_queue("orders")
    queue = passing(of=NOBODY).queue
    elsewhere.begin()
    (receipt,) = elsewhere(put_many, make_messages(1, "news"))
    put("orders")

    assert end_dead(limit=5)
    assert not Queue.objects.filter(pk=queue.pk).exists()
    elsewhere.commit()

    assert Ready.objects.filter(queue_id=queue.pk).exists()
    assert end_dead(limit=5)
    assert not end_dead(limit=5)
    assert [e.kind for e in journal.lifeline(receipt.message_id)] == [
        Kind.PUT,
        Kind.DISCARD,
    ]
    assert Ready.objects.count() == 1
    assert fsck.violations() == []


def test_a_subscriptions_poison_messages_are_its_queues(news: Address) -> None:
    ModelQueue.objects.filter(permanent=True).update(backout_threshold=1)
    queue = durable().queue
    put("news")
    work = UnitOfWork()
    work.get(queue.name)
    work.back_out("no such customer")

    with unit_of_work() as again:
        (delivery,) = again.get(queue.name)
        known = poison.attributes_of(queue.name)
        assert known.is_poison(delivery.backout_count)
    assert journal.depths()[queue.pk].total == 0
