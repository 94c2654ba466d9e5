"""The provider of AMQP against a listener of this broker: topics, and names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.interface import Capability, Destination
from broker.errors.bridges import WrongFactory
from broker.queueing.store import NewMessage
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.broker.bridges.amqp_sessions import (
    NEWS,
    ORDERS,
    bodies,
    factory,
    nothing_comes,
    session,
    take,
)
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    with listener() as listening:
        yield listening


@pytest.fixture
def ours(here: Listening) -> Iterator[AmqpSession]:
    make_queue("orders")
    with session(factory(here.port)) as opened:
        yield opened


# Topics.


@pytest.fixture
def _news(transactional_db: None) -> None:
    make_queue("news")


@pytest.mark.usefixtures("_news")
def test_who_subscribes_to_a_topic_gets_what_comes_then(
    here: Listening, ours: AmqpSession
) -> None:
    source = ours.subscribe(NEWS, prefetch=5)
    with session(factory(here.port)) as other:
        assert other.send(make_messages(3), NEWS) == [None] * 3
    got = take(source, 3, acknowledges=True)
    assert bodies(got) == [b"1", b"2", b"3"]
    assert {one.destination for one in got} == {NEWS}


@pytest.mark.spec("BRIDGE-17")
@pytest.mark.usefixtures("_news")
def test_what_it_sends_to_a_topic_does_not_come_back(
    here: Listening, ours: AmqpSession
) -> None:
    source = ours.subscribe(NEWS, prefetch=5)
    ours.send([NewMessage("", b"own")], NEWS)
    with session(factory(here.port)) as other:
        other.send([NewMessage("", b"other")], NEWS)
    assert bodies(take(source, 1)) == [b"other"]
    assert nothing_comes(source)


@pytest.mark.usefixtures("_news")
def test_a_durable_subscription_keeps_what_comes_meanwhile(here: Listening) -> None:
    named = factory(here.port, client_id="bridge-north")
    with session(named) as first:
        first.subscribe(NEWS, durable_name="all", prefetch=5)
    with session(factory(here.port)) as other:
        other.send(make_messages(3), NEWS)

    with session(named) as again:
        source = again.subscribe(NEWS, durable_name="all", prefetch=5)
        assert bodies(take(source, 3, acknowledges=True)) == [b"1", b"2", b"3"]
        source.close()
        with session(factory(here.port)) as other:
            other.send(make_messages(1), NEWS)
        after = again.subscribe(NEWS, durable_name="all")
        assert bodies(take(after, 1)) == [b"1"]


# Names.


def test_prefixes_stand_before_the_names_of_destinations(here: Listening) -> None:
    make_queue("/queue/orders")
    prefixed = factory(here.port, properties={"queue-prefix": "/queue/"})
    with session(prefixed) as ours:
        ours.send(make_messages(1), ORDERS)
        (got,) = take(ours.subscribe(ORDERS), 1)
    assert got.destination == ORDERS
    assert got.message.address == "orders"


def test_there_are_no_two_phases_and_no_lag(ours: AmqpSession) -> None:
    assert Capability.TWO_PHASE not in ours.capabilities
    assert ours.subscribe(ORDERS).lag() is None
    for asked in (ours.prepare, ours.commit_prepared, ours.roll_back_prepared):
        with pytest.raises(WrongFactory, match="not available"):
            asked("x")
    with pytest.raises(WrongFactory, match="not available"):
        ours.in_doubt("x")


def test_a_name_and_a_password_may_stand_in_the_url(here: Listening) -> None:
    url = f"amqp://amelia:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{here.port}"
    with session(factory(here.port, url=url, username="", password="")) as ours:
        make_queue("orders")
        assert ours.send(make_messages(1), ORDERS) == [None]


def test_many_targets_are_not_all_kept_attached(ours: AmqpSession) -> None:
    for number in range(60):
        make_queue(f"q{number}")
        assert ours.send(make_messages(1), Destination(f"q{number}")) == [None]
    assert len(ours.outboxes) == 50
    assert ours.send(make_messages(1), Destination("q0")) == [None]
