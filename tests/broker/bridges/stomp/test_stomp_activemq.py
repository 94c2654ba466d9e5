"""Messages to ActiveMQ and back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from broker.amqp.messages.bodies import ENCODED
from broker.bridges.providers.interface import Capability, Destination, Received
from broker.errors.bridges import AccessRefused, ProviderLost, SendRefused, WrongFactory
from broker.queueing.store import NewMessage
from tests.broker.bridges.activemq import ADMIN, ADMIN_PASSWORD, ActiveMQ
from tests.broker.bridges.stomp.conftest import Connected
from tests.broker.bridges.stomp.kinds import ENCODED_MAP, kinds, plain
from tests.broker.bridges.stomp.taking import (
    BRIEFLY_S,
    PATIENCE_S,
    bodies,
    take,
    text,
    texts,
)
from tests.console.until import until


def properties(received: Received) -> str:
    """With their types: true is not 1."""
    return json.dumps(received.message.properties, sort_keys=True)


@pytest.mark.spec("BRIDGE-1", "BRIDGE-8")
def test_a_thousand_of_every_kind_come_back_in_order_and_the_same(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session, sent = connected(amq.factory()), kinds(1000)

    assert session.send(sent, queue) == [None] * 1000
    came = take(session.subscribe(queue, prefetch=100), 1000)

    expected = [replace(one, address=queue.name) for one in sent]
    assert [plain(one.message) for one in came] == list(map(plain, expected))
    assert [properties(one) for one in came] == [
        json.dumps(one.properties, sort_keys=True) for one in sent
    ]
    assert len({one.message_id for one in came}) == 1000  # of the target's own
    assert {one.destination for one in came} == {queue}
    assert not any(one.redelivered for one in came)


def test_what_need_not_outlive_the_broker_stays_so(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session, sent = connected(amq.factory()), text(1, durable=False)

    session.send([sent], queue)

    (came,) = take(session.subscribe(queue), 1)
    assert came.message == replace(sent, address=queue.name)


def test_who_sent_it_when_is_told(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session, before = connected(amq.factory()), datetime.now(UTC)
    session.send([text(1, message_id="ID:of-the-source")], queue)

    (came,) = take(session.subscribe(queue), 1)

    assert came.sent_at is not None
    assert abs(came.sent_at - before) < timedelta(seconds=30)
    assert came.message_id.startswith("ID:")
    assert came.message_id != "ID:of-the-source"
    assert came.delivery_count is None


def test_everything_is_the_same_over_tls(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    trusting = amq.factory(tls=True, properties={"ca-file": str(amq.ca_file)})
    session, sent = connected(trusting), kinds(300)

    assert session.send(sent, queue) == [None] * 300
    came = take(session.subscribe(queue, prefetch=100), 300)

    expected = [replace(one, address=queue.name) for one in sent]
    assert [plain(one.message) for one in came] == list(map(plain, expected))


def test_a_certificate_of_nobody_is_not_trusted(
    amq: ActiveMQ, connected: Connected
) -> None:
    with pytest.raises(WrongFactory, match=r"not trusted: self.signed.*ca-file"):
        connected(amq.factory(tls=True))


@pytest.mark.parametrize("changed", [{"password": "wrong"}, {"username": "nobody"}])
def test_who_has_no_right_password_is_told_so(
    amq: ActiveMQ, connected: Connected, changed: dict[str, Any]
) -> None:
    with pytest.raises(AccessRefused, match="refuses this name and password"):
        connected(amq.factory(**changed))


def test_a_client_id_is_of_one_at_a_time(amq: ActiveMQ, connected: Connected) -> None:
    factory = amq.factory(client_id="only-one")
    first = connected(factory)

    with pytest.raises(ProviderLost, match="already connected"):
        connected(factory)

    def is_free() -> bool:
        try:
            connected(factory)
        except ProviderLost:  # the broker may take a moment
            return False
        return True

    first.close()
    until(is_free, PATIENCE_S)


def test_where_one_may_not_go_the_factory_is_wrong(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session, closed = connected(amq.factory()), Destination("closed")

    with pytest.raises(WrongFactory, match="It refused a message for /queue/closed"):
        session.send(texts(3), closed)
    with pytest.raises(WrongFactory, match="It refused a message for /queue/closed"):
        session.send(texts(1), closed)
    with pytest.raises(WrongFactory, match="subscription to queue:closed"):
        session.subscribe(closed)

    assert session.send(texts(2), queue) == [None, None]  # it goes on


def test_a_selector_chooses_and_a_wrong_one_is_refused(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send([text(n, properties={"n": n}) for n in range(6)], queue)

    chosen = session.subscribe(queue, selector="n > 3", prefetch=10)
    assert bodies(take(chosen, 2)) == [b"4", b"5"]
    assert chosen.receive(1, BRIEFLY_S) == []
    with pytest.raises(WrongFactory, match="It refused the subscription"):
        session.subscribe(queue, selector="n > ")


def test_a_durable_subscription_keeps_what_comes_while_it_is_away(
    amq: ActiveMQ, connected: Connected, topic: Destination
) -> None:
    factory = amq.factory(client_id="keeps")
    session, other = connected(factory), connected(amq.factory())
    session.subscribe(topic, durable_name="orders").close()
    session.close()

    other.send(texts(3), topic)
    subscription = connected(factory).subscribe(topic, durable_name="orders")
    came = take(subscription, 3)

    assert bodies(came) == [b"0", b"1", b"2"]
    assert {one.destination for one in came} == {topic}


def test_what_cannot_be_durable_is_told(
    amq: ActiveMQ, connected: Connected, queue: Destination, topic: Destination
) -> None:
    with pytest.raises(WrongFactory, match="needs a client id"):
        connected(amq.factory()).subscribe(topic, durable_name="orders")
    with pytest.raises(WrongFactory, match="Only a subscription to a topic"):
        connected(amq.factory(client_id="x")).subscribe(queue, durable_name="orders")


def test_a_topic_has_nothing_of_what_this_session_sends(
    amq: ActiveMQ, connected: Connected, topic: Destination
) -> None:
    session, other = connected(amq.factory()), connected(amq.factory())
    subscription = session.subscribe(topic)

    session.send([text(1)], topic)
    other.send([text(2)], topic)

    assert bodies(take(subscription, 1)) == [b"2"]


def test_one_that_cannot_travel_costs_no_other_its_place(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    too_long = text(1, properties={"long": "x" * 20_000})

    outcomes = session.send([text(0), too_long, text(2)], queue)

    assert outcomes[::2] == [None, None]
    assert isinstance(outcomes[1], SendRefused)
    assert bodies(take(session.subscribe(queue), 2)) == [b"0", b"2"]


def test_what_is_given_back_comes_again_first_and_in_order(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(6), queue)
    subscription = session.subscribe(queue, prefetch=10)
    first = subscription.receive(4, PATIENCE_S)
    while len(first) < 4:
        first += subscription.receive(4 - len(first), PATIENCE_S)

    first[1].message.reply_to = "changed meanwhile"
    subscription.release([first[1]])
    subscription.release([first[3], first[0]], failed=True)
    subscription.acknowledge([first[2]])
    subscription.release(first)  # those that are not back yet: none
    again = take(subscription, 5, batch=1)

    assert bodies(again) == [b"0", b"1", b"3", b"4", b"5"]
    assert [one.redelivered for one in again] == [True] * 3 + [False] * 2
    assert again[1].message.reply_to is None


def test_what_nobody_acknowledged_is_the_brokers_again(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(5), queue)
    subscription = session.subscribe(queue, prefetch=5)
    subscription.acknowledge(subscription.receive(1, PATIENCE_S))
    subscription.receive(2, PATIENCE_S)

    subscription.close()
    subscription.close()

    came = take(session.subscribe(queue, prefetch=5), 4)
    assert bodies(came) == [b"1", b"2", b"3", b"4"]


def test_what_was_acknowledged_cannot_be_again(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(1), queue)
    subscription = session.subscribe(queue)
    came = take(subscription, 1)

    with pytest.raises(ProviderLost, match="had already been acknowledged"):
        subscription.acknowledge(came)


def test_other_prefixes_name_other_destinations(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    prefixed = connected(amq.factory(properties={"queue-prefix": "/queue/t.of."}))
    prefixed.send([text(1, reply_to="answers")], queue)

    there = connected(amq.factory()).subscribe(Destination(f"t.of.{queue.name}"))
    (came,) = take(there, 1)

    assert came.message.reply_to == "t.of.answers"


def test_maps_come_as_text_where_they_are_not_asked_for(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory(properties={"maps": "no"}))
    sent = NewMessage(queue.name, ENCODED_MAP, ENCODED)

    session.send([sent], queue)
    (came,) = take(session.subscribe(queue), 1)

    assert came.message == sent  # bytes, which only a broker like this one reads


def test_nothing_is_prepared_and_no_lag_is_told(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory(username=ADMIN, password=ADMIN_PASSWORD))

    for two_phases in (
        session.prepare,
        session.commit_prepared,
        session.roll_back_prepared,
        session.in_doubt,
    ):
        with pytest.raises(WrongFactory, match="STOMP has no transactions that can be"):
            two_phases("x")
    assert session.subscribe(queue).lag() is None
    assert Capability.TWO_PHASE not in session.capabilities
