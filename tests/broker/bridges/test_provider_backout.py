"""The provider "another Backout", against a real one: receiving and sending."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from broker.amqp.messages import batches
from broker.bridges.providers import registry
from broker.bridges.providers.backout.session import BackoutSession, chunks
from broker.bridges.providers.interface import Destination
from broker.errors.bridges import (
    ProviderLost,
    WrongFactory,
)
from broker.models import Delayed, Place, Queue
from broker.queueing.browse import browse, whole
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put_many
from tests.broker.bridges.mixed import mixed
from tests.broker.bridges.other_backout import OtherBackout
from tests.make import make_messages, make_queue

ORDERS = Destination("orders")


@pytest.fixture
def orders(other: OtherBackout) -> Queue:
    with other.instead():
        return make_queue("orders")


@pytest.fixture
def session(other: OtherBackout, orders: Queue) -> Iterator[BackoutSession]:
    found = connect(other)
    yield found
    found.close()


def connect(other: OtherBackout, **fields: Any) -> BackoutSession:
    found = registry.connect(other.factory(**fields))
    assert isinstance(found, BackoutSession)
    return found


def put_there(other: OtherBackout, messages: list[NewMessage]) -> None:
    with other.instead():
        put_many(messages)


def there(other: OtherBackout, queue: Queue) -> list[Delivery]:
    """What is ready, in the order of gets."""
    with other.instead():
        entries = browse(queue.pk, Place.READY, limit=2000)
        return whole(queue.pk, entries)


def bodies(found: list[Any]) -> list[bytes]:
    return [one.message.body for one in found]


def test_a_thousand_mixed_messages_are_received_as_they_were_put(
    other: OtherBackout, session: BackoutSession
) -> None:
    messages = mixed(1000, "orders", timezone.now())
    put_there(other, messages)
    subscription = session.subscribe(ORDERS)

    got = [one for _ in range(10) for one in subscription.receive(100, 0)]

    by_priority = sorted(messages, key=lambda one: -one.priority)
    assert [one.message for one in got] == by_priority
    assert got[0].destination == ORDERS
    assert (got[0].redelivered, got[0].delivery_count) == (False, 1)
    assert got[0].sent_at is not None
    named = {one.message.message_id: one.message_id for one in got}
    assert named["ID:0"] == "ID:0"
    made = [one.message_id for one in got if one.message.message_id is None]
    assert len(made) == len(set(made))
    assert all(name.startswith("ID:") for name in made)
    subscription.acknowledge(got)
    assert subscription.receive(1, 0) == []


def test_a_thousand_mixed_messages_are_sent_as_they_are(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    messages = mixed(1000, "from here", timezone.now())

    assert session.send(messages, ORDERS) == [None] * 1000

    arrived = [batches.as_put(one) for one in there(other, orders)]
    sent = [
        replace(one, address="orders", producer=one.producer or "bridge")
        for one in messages
    ]
    assert arrived == sorted(sent, key=lambda one: -one.priority)


def test_what_is_released_is_where_it_was_and_counted_only_if_it_failed(
    other: OtherBackout, session: BackoutSession
) -> None:
    put_there(other, make_messages(4))
    subscription = session.subscribe(ORDERS)
    first, second, third = subscription.receive(3, 0)

    subscription.release([second])
    subscription.release([first], failed=True)
    again = subscription.receive(10, 0)

    assert bodies(again) == [b"1", b"2", b"4"]
    assert [one.redelivered for one in again] == [True, False, False]
    assert [one.delivery_count for one in again] == [2, 1, 1]
    subscription.acknowledge([third, *again])
    assert subscription.receive(1, 0) == []


def test_what_was_not_acknowledged_comes_back_when_the_session_ends(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    put_there(other, make_messages(3))
    first, *_ = session.subscribe(ORDERS).receive(3, 0)
    session.subscriptions[0].acknowledge([first])

    session.close()
    session.close()

    assert [one.body for one in there(other, orders)] == [b"2", b"3"]


def test_a_consumer_that_comes_back_has_at_once_what_it_held(
    other: OtherBackout, session: BackoutSession
) -> None:
    """As after a crash: the one before never says that it is gone."""
    put_there(other, make_messages(3))
    before = connect(other, client_id="link 7")
    first = before.subscribe(ORDERS)
    held = first.receive(2, 0)
    after = connect(other, client_id="link 7")

    got = after.subscribe(ORDERS).receive(10, 0)

    assert bodies(got) == [b"1", b"2", b"3"]
    assert not any(one.redelivered for one in got)
    with pytest.raises(ProviderLost, match="ended"):
        first.acknowledge(held)
    with pytest.raises(ProviderLost, match="no longer held"):
        first.acknowledge(held)
    for one in (before, after):
        one.close()


def test_receiving_waits_for_the_first(
    other: OtherBackout, session: BackoutSession
) -> None:
    subscription = session.subscribe(ORDERS)
    with other.instead():
        soon = timezone.now() + timedelta(seconds=0.3)
        put_many([NewMessage("orders", b"late", deliver_at=soon)])
        assert Delayed.objects.exists()

    assert bodies(subscription.receive(5, 30)) == [b"late"]


def test_a_selector_chooses(other: OtherBackout, session: BackoutSession) -> None:
    put_there(
        other,
        [NewMessage("orders", str(n).encode(), properties={"n": n}) for n in range(9)],
    )

    subscription = session.subscribe(ORDERS, selector="n > 5 AND n <> 7")

    assert bodies(subscription.receive(100, 0)) == [b"6", b"8"]


def test_lag_is_how_many_wait_and_since_when(
    other: OtherBackout, session: BackoutSession
) -> None:
    subscription = session.subscribe(ORDERS)
    empty = subscription.lag()
    assert empty is not None
    assert (empty.messages, empty.oldest_at) == (0, None)
    put_there(other, make_messages(3))
    subscription.receive(1, 0)

    lag = subscription.lag()

    assert lag is not None
    assert lag.messages == 3
    assert lag.oldest_at is not None
    assert timezone.now() - lag.oldest_at < timedelta(minutes=5)


def test_who_may_not_look_tells_no_lag(other: OtherBackout, orders: Queue) -> None:
    secret = other.credential("getter", granted=("get",))
    session = connect(other, password=secret)

    assert session.subscribe(ORDERS).lag() is None
    session.close()


@pytest.mark.parametrize(
    ("size", "count", "expected"),
    [(1, 2500, [1000, 1000, 500]), (3 * 2**20, 3, [1, 1, 1]), (2**20, 5, [4, 1])],
)
def test_what_is_sent_is_cut_into_requests(
    size: int, count: int, expected: list[int]
) -> None:
    body = bytes(size)
    messages = [NewMessage("orders", body) for _ in range(count)]

    assert [len(one) for one in chunks(messages)] == expected
    assert list(chunks([])) == []


def test_a_queue_of_any_name_is_found(
    other: OtherBackout, session: BackoutSession
) -> None:
    name = "eu/größe #1~"
    with other.instead():
        make_queue(name)
    there = Destination(name)

    session.send(make_messages(1), there)

    assert bodies(session.subscribe(there).receive(1, 0)) == [b"1"]
    with pytest.raises(WrongFactory):
        session.subscribe(Destination(".."))
