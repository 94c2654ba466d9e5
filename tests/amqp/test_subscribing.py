"""Subscriptions of clients: durable or not, shared or not, and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.types.types import Described, Symbol
from broker.models import Address, Queue, Subscription
from broker.queueing.put import put
from tests.amqp.listening import Listening
from tests.amqp.putting import Speaker, body_of, refused, speaking
from tests.make import make_queue

TOPIC: dict[str, Any] = {"capabilities": ("topic",)}
DURABLE: dict[str, Any] = {**TOPIC, "durable": 2, "expiry_policy": "never"}
SHARED: dict[str, Any] = {"capabilities": ("topic", "shared")}
SHARED_DURABLE: dict[str, Any] = {**DURABLE, **SHARED}
GLOBAL: dict[str, Any] = {"capabilities": ("topic", "shared", "global")}


@pytest.fixture(autouse=True)
def _news(transactional_db: None) -> None:
    make_queue("news")


@contextmanager
def two_of_one(here: Listening) -> Iterator[tuple[Speaker, Speaker]]:
    """Two connections of one client."""
    with (
        speaking(here, container_id="me") as one,
        speaking(here, container_id="me") as two,
    ):
        yield one, two


def selector(text: str) -> dict[str, Any]:
    name = Symbol("apache.org:selector-filter:string")
    return {"filter": {Symbol("jms-selector"): Described(name, text)}}


def quiet(here: Listening) -> None:
    """What has ended holds nothing any more."""
    here.until(lambda: not here.listener.endings)


def accepted(client: Speaker, receiver: Receiver, count: int = 1) -> list[bytes]:
    got = client.get(receiver, count)
    client.session.settle(got, p.Accepted())
    client.wire.send()
    return [body_of(one) for one in got]


def test_each_subscriber_gets_a_copy_of_what_is_sent_from_now_on(
    here: Listening,
) -> None:
    put("news", b"before")
    with speaking(here) as client:
        both = [client.receiver("news", credit=9, **TOPIC) for _ in range(2)]

        put("news", b"after")

        assert [accepted(client, one) for one in both] == [[b"after"]] * 2


def test_a_subscription_that_is_not_durable_ends_with_its_endpoint(
    here: Listening,
) -> None:
    with speaking(here) as client:
        one, two = client.receiver("news", **TOPIC), client.receiver("news", **TOPIC)
        assert Subscription.objects.count() == 2

        client.detach(one)
        client.detach(two, closed=False)
        quiet(here)

        assert not Subscription.objects.exists()
        assert not Queue.objects.filter(kind=Queue.Kind.MANAGED).exists()


def test_a_durable_subscription_keeps_what_comes_while_it_is_detached(
    here: Listening,
) -> None:
    with speaking(here, container_id="me") as client:
        first = client.receiver("news", name="daily", **DURABLE)
        assert first.source is not None
        assert (first.source.durable, first.source.expiry_policy) == (2, "never")
        client.detach(first, closed=False)

        put("news", b"meanwhile")
        again = client.receiver("news", name="daily", credit=1, **DURABLE)

        assert accepted(client, again) == [b"meanwhile"]
        client.detach(again)
        quiet(here)
        assert not Subscription.objects.exists()


def test_a_durable_subscription_outlives_a_lost_connection(here: Listening) -> None:
    with pytest.raises(InterruptedError), speaking(here, container_id="me") as one:
        one.receiver("news", name="daily", **DURABLE)
        raise InterruptedError
    put("news", b"meanwhile")

    with speaking(here, container_id="me") as client:
        again = client.receiver("news", name="daily", credit=1, **DURABLE)

        assert accepted(client, again) == [b"meanwhile"]


def test_two_clients_may_use_one_name(here: Listening) -> None:
    with (
        speaking(here, container_id="me") as me,
        speaking(here, container_id="you") as you,
    ):
        mine = me.receiver("news", name="daily", credit=1, **DURABLE)
        yours = you.receiver("news", name="daily", credit=1, **DURABLE)

        put("news", b"1")

        assert accepted(me, mine) == accepted(you, yours) == [b"1"]


def test_a_durable_subscription_has_one_consumer_at_a_time(here: Listening) -> None:
    with two_of_one(here) as (one, two):
        first = one.receiver("news", name="daily", **DURABLE)

        assert refused(two, "news", name="daily", **DURABLE) == "amqp:resource-locked"
        one.detach(first, closed=False)
        assert two.receiver("news", name="daily", **DURABLE).attached


def test_another_selector_begins_a_durable_subscription_anew(here: Listening) -> None:
    with speaking(here, container_id="me") as client:
        client.detach(client.receiver("news", name="daily", **DURABLE), closed=False)
        put("news", b"kept by the old one")

        red = DURABLE | selector("color = 'red'")
        again = client.receiver("news", name="daily", credit=9, **red)
        put("news", b"blue", properties={"color": "blue"})
        put("news", b"red", properties={"color": "red"})

        assert accepted(client, again) == [b"red"]
        assert again.source is not None
        assert set(again.source.filter or {}) == {"jms-selector"}
        assert Subscription.objects.count() == 1


def test_a_durable_subscription_in_use_does_not_begin_anew(here: Listening) -> None:
    make_queue("sports")
    with two_of_one(here) as (one, two):
        first = one.receiver("news", name="daily", credit=1, **DURABLE)

        assert refused(two, "sports", name="daily", **DURABLE) == "amqp:resource-locked"
        put("news", b"still there")
        assert accepted(one, first) == [b"still there"]


def test_a_client_unsubscribes_by_closing_what_it_looks_up(here: Listening) -> None:
    with speaking(here, container_id="me") as client:
        client.detach(client.receiver("news", name="daily", **DURABLE), closed=False)

        found = client.receiver(name="daily", no_source=True)
        assert found.source is not None
        assert (found.source.address, found.source.durable) == ("news", 2)
        client.detach(found, closed=True)
        quiet(here)

        assert not Subscription.objects.exists()
        with pytest.raises(AmqpError) as again:
            client.receiver(name="daily", no_source=True)
        assert again.value.condition == "amqp:not-found"


def test_a_lookup_that_is_not_closed_ends_nothing(here: Listening) -> None:
    with speaking(here, container_id="me") as client:
        client.detach(client.receiver("news", name="daily", **DURABLE), closed=False)

        found = client.receiver(name="daily", no_source=True)
        client.detach(found, closed=False)
        quiet(here)

        assert Subscription.objects.count() == 1


def test_nobody_unsubscribes_while_there_is_a_consumer(here: Listening) -> None:
    with two_of_one(here) as (one, two):
        one.receiver("news", name="daily", **DURABLE)

        why = refused(two, name="daily", no_source=True)

        assert why == "amqp:resource-locked"
        assert Subscription.objects.count() == 1


def test_unsubscribing_and_subscribing_again_keeps_nothing(here: Listening) -> None:
    with speaking(here, container_id="me") as client:
        for _ in range(3):
            first = client.receiver("news", name="daily", credit=1, **DURABLE)
            put("news", b"new")
            assert accepted(client, first) == [b"new"]
            client.detach(first, closed=False)
            put("news", b"old")
            client.detach(client.receiver(name="daily", no_source=True))
        quiet(here)

        assert not Subscription.objects.exists()


# Shared.


def test_consumers_of_a_shared_subscription_divide_what_comes(here: Listening) -> None:
    with two_of_one(here) as (one, two):
        mine = one.receiver("news", name="team|1", credit=1, **SHARED)
        yours = two.receiver("news", name="team|2", credit=1, **SHARED)

        put("news", b"1")
        put("news", b"2")

        both = accepted(one, mine) + accepted(two, yours)
        assert sorted(both) == [b"1", b"2"]
        assert Subscription.objects.count() == 1


def test_a_shared_subscription_ends_with_the_last_of_its_consumers(
    here: Listening,
) -> None:
    with two_of_one(here) as (one, two):
        mine = one.receiver("news", name="team|1", **SHARED)
        yours = two.receiver("news", name="team|2", **SHARED)

        one.detach(mine)
        quiet(here)
        between = Subscription.objects.count()
        two.detach(yours)
        quiet(here)

        assert between == 1
        assert not Subscription.objects.exists()


def test_a_shared_subscription_in_use_keeps_its_selector(here: Listening) -> None:
    with two_of_one(here) as (one, two):
        one.receiver("news", name="team|1", **SHARED)

        other = SHARED | selector("color = 'red'")

        assert refused(two, "news", name="team|2", **other) == "amqp:resource-locked"


def test_clients_share_a_global_name_and_no_other(here: Listening) -> None:
    with (
        speaking(here, container_id="me") as one,
        speaking(here, container_id="you") as two,
    ):
        one.receiver("news", name="team|a", **GLOBAL)
        two.receiver("news", name="team|b", **GLOBAL)
        all_clients = Subscription.objects.count()
        two.receiver("news", name="team|c", **SHARED)

        assert all_clients == 1
        assert Subscription.objects.count() == 2


def test_a_shared_durable_subscription_is_kept_until_somebody_ends_it(
    here: Listening,
) -> None:
    with two_of_one(here) as (one, two):
        mine = one.receiver("news", name="team|1", **SHARED_DURABLE)
        yours = two.receiver("news", name="team|2", **SHARED_DURABLE)
        one.detach(mine, closed=False)
        two.detach(yours, closed=False)
        put("news", b"meanwhile")

        again = one.receiver("news", name="team|3", credit=1, **SHARED_DURABLE)
        assert accepted(one, again) == [b"meanwhile"]
        one.detach(again, closed=False)
        one.detach(one.receiver(name="team", no_source=True))
        quiet(here)

        assert not Subscription.objects.exists()


def test_a_shared_durable_subscription_outlives_one_of_two_that_closes(
    here: Listening,
) -> None:
    with two_of_one(here) as (one, two):
        mine = one.receiver("news", name="team|1", **SHARED_DURABLE)
        yours = two.receiver("news", name="team|2", credit=1, **SHARED_DURABLE)

        one.detach(mine, closed=True)
        quiet(here)
        put("news", b"1")

        assert accepted(two, yours) == [b"1"]


def test_a_subscription_without_a_model_is_refused(here: Listening) -> None:
    Address.objects.filter(name="news").update(nondurable_model="NONE")
    with speaking(here) as client:
        assert refused(client, "news", **TOPIC) == "amqp:precondition-failed"
