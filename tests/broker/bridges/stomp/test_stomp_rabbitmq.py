"""The same with RabbitMQ's plugin, which can do less."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from broker.bridges.providers.interface import Capability, Destination, Factory
from broker.errors.bridges import AccessRefused, ProviderLost, WrongFactory
from tests.broker.bridges.stomp.conftest import Connected
from tests.broker.bridges.stomp.kinds import IN_AN_HOUR, kinds
from tests.broker.bridges.stomp.taking import (
    PATIENCE_S,
    bodies,
    left_on,
    take,
    texts,
)

pytestmark = pytest.mark.long


@pytest.mark.spec("BRIDGE-1", "BRIDGE-8")
def test_a_thousand_of_every_kind_come_back_in_order_and_the_same(
    rmq: Factory, connected: Connected, queue: Destination
) -> None:
    session, sent = connected(rmq), kinds(1000)

    assert session.send(sent, queue) == [None] * 1000
    came = take(session.subscribe(queue, prefetch=100), 1000)

    expected = [replace(one, address=queue.name, expires_at=None) for one in sent]
    assert [replace(one.message, expires_at=None) for one in came] == expected
    assert {one.destination for one in came} == {queue}


@pytest.mark.spec("BRIDGE-8")
def test_what_is_over_does_not_come(
    rmq: Factory, connected: Connected, queue: Destination
) -> None:
    session = connected(rmq)
    over, ahead = IN_AN_HOUR - timedelta(hours=2), IN_AN_HOUR
    one, two, three = texts(3)
    sent = [replace(one, expires_at=over), replace(two, expires_at=ahead), three]

    session.send(sent, queue)

    assert left_on(session, queue)[-2:] == [b"1", b"2"]


def test_what_was_given_back_is_the_brokers_again_when_one_stops(
    rmq: Factory, connected: Connected, queue: Destination
) -> None:
    session = connected(rmq)
    session.send(texts(5), queue)
    subscription = session.subscribe(queue, prefetch=3)
    first = take(subscription, 1)
    came = subscription.receive(2, PATIENCE_S)
    subscription.release(came, failed=True)

    again = take(subscription, 1)
    subscription.close()
    subscription.close()

    assert bodies(first + again) == [b"0", b"1"]
    assert left_on(session, queue) == [b"2", b"3", b"4"]


def test_what_it_cannot_do_is_told(
    rmq: Factory, connected: Connected, queue: Destination
) -> None:
    session = connected(rmq)

    assert not session.capabilities & (Capability.TRANSACTIONS | Capability.SELECTORS)
    with pytest.raises(WrongFactory, match="RabbitMQ has no transactions over STOMP"):
        session.begin()
    with pytest.raises(
        WrongFactory, match="RabbitMQ does not support selectors over STOMP"
    ):
        session.subscribe(queue, selector="a = 1")


def test_a_durable_subscription_keeps_what_comes_while_it_is_away(
    rmq: Factory, connected: Connected, topic: Destination
) -> None:
    session = connected(rmq)
    session.subscribe(topic, durable_name="orders").close()

    session.send(texts(2), topic)

    assert bodies(take(session.subscribe(topic, durable_name="orders"), 2)) == [
        b"0",
        b"1",
    ]


def test_who_may_not_come_in_is_told(rmq: Factory, connected: Connected) -> None:
    with pytest.raises(AccessRefused, match="Access refused for user"):
        connected(replace(rmq, password="wrong"))
    with pytest.raises(WrongFactory, match="Virtual host 'none' access denied"):
        connected(replace(rmq, url=f"{rmq.url}/none"))


def test_what_does_not_exist_there_is_told(rmq: Factory, connected: Connected) -> None:
    exchanges = replace(rmq, properties={"topic-prefix": "/exchange/"})
    queues = replace(rmq, properties={"queue-prefix": "/amq/queue/"})

    session = connected(exchanges)
    with pytest.raises(WrongFactory, match="no exchange 'none'"):
        session.send(texts(2), Destination("none/key", is_topic=True))
    with pytest.raises(ProviderLost):
        session.send(texts(2), Destination("none"))  # it ended the connection
    with pytest.raises(WrongFactory, match="no queue 'none'"):
        connected(queues).subscribe(Destination("none"))
