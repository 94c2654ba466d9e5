"""The provider of AMQP against brokers that are not this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from broker.amqp.messages import bodies as kinds
from broker.bridges.providers.amqp import connect
from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.interface import (
    Capability,
    Destination,
    Factory,
    Received,
)
from broker.errors.bridges import AccessRefused, ProviderLost, WrongFactory
from broker.queueing.store import NewMessage
from tests.amqp.written import VALUE, annotated, came, section
from tests.broker.bridges import amqp_peers
from tests.broker.bridges.amqp_sessions import bodies, nothing_comes, session, take
from tests.broker.bridges.test_provider_amqp import MAP, facts
from tests.make import make_messages

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["rabbitmq", "activemq"])
def peer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Factory]:
    if request.param == "activemq":
        yield amqp_peers.activemq()
        return
    with amqp_peers.rabbitmq(tmp_path_factory.mktemp("rabbitmq")) as made:
        yield made


@pytest.fixture
def ours(peer: Factory) -> Iterator[AmqpSession]:
    with session(peer) as opened:
        yield opened


@pytest.fixture
def queue() -> Destination:
    """One that nobody has used yet."""
    return Destination(f"q-{uuid4().hex}")


def needs(ours: AmqpSession, capability: Capability) -> None:
    if capability not in ours.capabilities:
        pytest.skip(f"it has no {capability.name}")


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize(
    ("count", "prefetch", "batch"), [(1000, 1, 1), (1000, 100, 100), (9000, 500, 200)]
)
def test_thousands_of_messages_pass_in_order(
    peer: Factory,
    ours: AmqpSession,
    queue: Destination,
    count: int,
    prefetch: int,
    batch: int,
) -> None:
    sent = make_messages(count)
    assert ours.send(sent, queue) == [None] * count
    source = ours.subscribe(queue, prefetch=prefetch)
    got: list[Received] = []
    while len(got) < count:
        got += take(source, min(batch, count - len(got)), acknowledges=True)
    assert bodies(got) == [one.body for one in sent]
    assert not any(one.redelivered for one in got)
    source.close()
    with session(peer) as other:
        assert nothing_comes(other.subscribe(queue))


def mixed() -> list[NewMessage]:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    every: dict[str, Any] = {
        "text": "grün",
        "whole": 7,
        "negative": -(2**31),
        "long": 2**40,
        "real": 2.5,
        "yes": True,
    }
    return [
        NewMessage("", b"\0\1\2"),
        NewMessage("", "grün".encode(), "text/plain; charset=utf-8"),
        NewMessage("", b'{"a": 1}', "application/json", properties=every),
        NewMessage("", b"r", reply_to="answers", subject="type", group_id="g"),
        NewMessage("", b"e", expires_at=later),
        NewMessage("", b"n", durable=False),
        NewMessage("", b"c", correlation_id="plain"),
        *(NewMessage("", b"p", priority=priority) for priority in range(10)),
        came(annotated(x_opt_mine=1) + section(VALUE, MAP)),
    ]


@pytest.mark.spec("BRIDGE-8")
def test_messages_of_every_kind_come_back_equal(
    ours: AmqpSession, queue: Destination
) -> None:
    source = ours.subscribe(queue, prefetch=1)
    for message in mixed():
        assert ours.send([message], queue) == [None]
        (got,) = take(source, 1, acknowledges=True)
        assert facts(got.message) == facts(message)
        assert got.message_id == ours.sent_ids[0]
    assert got.message.content_type == kinds.ENCODED


@pytest.mark.spec("BRIDGE-19")
def test_what_is_released_comes_again_in_order(
    peer: Factory, ours: AmqpSession, queue: Destination
) -> None:
    ours.send(make_messages(30), queue)
    source = ours.subscribe(queue, prefetch=10)
    got = take(source, 3)
    source.acknowledge(got[:1])
    source.release(got[1:])
    first = take(source, 2)
    source.release(first, failed=True)
    again = take(source, 29, acknowledges=True)
    assert bodies(again) == [b"%d" % number for number in range(2, 31)]
    if peer.name != "activemq":  # which counts for one consumer alone
        assert again[0].redelivered


def test_while_it_is_paused_others_can_take_all(
    peer: Factory, ours: AmqpSession, queue: Destination
) -> None:
    ours.send(make_messages(5), queue)
    source = ours.subscribe(queue, prefetch=5)
    take(source, 1, acknowledges=True)
    assert source.receive(0, 0.2) == []
    with session(peer) as other:
        got = take(other.subscribe(queue, prefetch=5), 4, acknowledges=True)
    assert bodies(got) == [b"2", b"3", b"4", b"5"]


def test_what_was_not_acknowledged_is_there_again(
    peer: Factory, ours: AmqpSession, queue: Destination
) -> None:
    ours.send(make_messages(3), queue)
    source = ours.subscribe(queue, prefetch=2)
    source.acknowledge(take(source, 2)[:1])
    source.close()
    with session(peer) as other:
        assert bodies(take(other.subscribe(queue, prefetch=5), 2)) == [b"2", b"3"]


@pytest.mark.spec("BRIDGE-20")
def test_a_transaction_takes_what_is_received_and_sent_together(
    ours: AmqpSession, queue: Destination
) -> None:
    needs(ours, Capability.TRANSACTIONS)
    target = Destination(f"{queue.name}-target")
    ours.send(make_messages(4), queue)
    source = ours.subscribe(queue, prefetch=4)
    for ends_well in (False, True):
        ours.begin()
        got = take(source, 2)
        assert bodies(got) == [b"1", b"2"]
        assert ours.send([one.message for one in got], target) == [None, None]
        source.acknowledge(got)
        if ends_well:
            ours.commit()
        else:
            ours.roll_back()
    assert bodies(take(source, 2, acknowledges=True)) == [b"3", b"4"]
    there = ours.subscribe(target, prefetch=5)
    assert bodies(take(there, 2, acknowledges=True)) == [b"1", b"2"]
    assert nothing_comes(there)


def test_a_provider_without_transactions_says_so(ours: AmqpSession) -> None:
    if Capability.TRANSACTIONS in ours.capabilities:
        pytest.skip("it has them")
    with pytest.raises(WrongFactory, match=r"not-implemented.*not transacted"):
        ours.begin()


def test_a_selector_chooses_or_is_refused(
    ours: AmqpSession, queue: Destination
) -> None:
    numbered = [NewMessage("", b"%d" % n, properties={"n": n}) for n in range(6)]
    ours.send(numbered, queue)
    if Capability.SELECTORS not in ours.capabilities:
        with pytest.raises(WrongFactory, match="no selectors"):
            ours.subscribe(queue, selector="n > 3")
        return
    source = ours.subscribe(queue, selector="n > 3", prefetch=5)
    assert bodies(take(source, 2)) == [b"4", b"5"]
    assert nothing_comes(source)
    with pytest.raises(WrongFactory, match="invalid-field"):
        ours.subscribe(queue, selector="n >")


def test_a_topic_gives_to_all_that_subscribe(peer: Factory, ours: AmqpSession) -> None:
    news = Destination(f"t.{uuid4().hex}", is_topic=True)
    source = ours.subscribe(news, prefetch=5)
    with session(peer) as other:
        also = other.subscribe(news, prefetch=5)
        with session(peer) as third:
            third.send(make_messages(3), news)
        for one in (source, also):
            assert bodies(take(one, 3, acknowledges=True)) == [b"1", b"2", b"3"]


def test_a_durable_subscription_keeps_or_is_refused(peer: Factory) -> None:
    news = Destination(f"t.{uuid4().hex}", is_topic=True)
    named = replace(peer, client_id=f"c-{uuid4().hex}")
    with session(named) as ours:
        if Capability.DURABLE not in ours.capabilities:
            with pytest.raises(WrongFactory, match="has no durable subscriptions"):
                ours.subscribe(news, durable_name="all")
            return
        ours.subscribe(news, durable_name="all", prefetch=5)
    with session(peer) as other:
        other.send(make_messages(3), news)
    with session(named) as again:
        source = again.subscribe(news, durable_name="all", prefetch=5)
        assert bodies(take(source, 3, acknowledges=True)) == [b"1", b"2", b"3"]


def test_a_wrong_password_is_told(peer: Factory) -> None:
    with pytest.raises(AccessRefused):
        connect(replace(peer, password="wrong"))


def test_an_unknown_queue_of_rabbitmq_is_told(peer: Factory) -> None:
    if peer.name != "rabbitmq":
        pytest.skip("it makes the queues that are asked for")
    existing = replace(peer, properties={"queue-prefix": "/amq/queue/"})
    for step in ("subscribe", "send"):
        ours = connect(existing)
        with pytest.raises(WrongFactory, match="amqp:not-found"):
            if step == "send":
                ours.send(make_messages(1), Destination("nowhere"))
            else:
                ours.subscribe(Destination("nowhere"))
        with pytest.raises(ProviderLost):  # it ends the session as well
            ours.subscribe(Destination("nowhere"))
        ours.close()
