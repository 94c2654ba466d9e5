"""Transactions of the provider of AMQP, against a listener of this broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.interface import Destination
from broker.errors.bridges import SendRefused
from broker.queueing.put import put_many
from broker.queueing.store import NewMessage
from tests.amqp.listening import Listening, listener
from tests.broker.bridges.amqp_sessions import (
    ORDERS,
    STOCK,
    bodies,
    factory,
    on,
    session,
    take,
)
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = [
    pytest.mark.usefixtures("transactional_db"),
    pytest.mark.spec("BRIDGE-20"),
]


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    make_queue("orders")
    make_queue("stock")
    put_many(make_messages(6))
    with listener() as listening:
        yield listening


@pytest.fixture
def ours(here: Listening) -> Iterator[AmqpSession]:
    with session(factory(here.port)) as opened:
        yield opened


def test_what_is_received_and_sent_is_committed_together(ours: AmqpSession) -> None:
    source = ours.subscribe(ORDERS, prefetch=4)
    ours.begin()
    got = take(source, 4)
    answers = ours.send([one.message for one in got], STOCK)
    source.acknowledge(got)
    assert answers == [None] * 4
    assert on("stock") == []

    ours.commit()

    assert on("stock") == bodies(got) == [b"1", b"2", b"3", b"4"]
    assert on("orders") == [b"5", b"6"]


def test_transactions_follow_one_another(ours: AmqpSession) -> None:
    source = ours.subscribe(ORDERS, prefetch=2)
    for _ in range(6):
        ours.begin()
        got = take(source, 1)
        ours.send([got[0].message], STOCK)
        source.acknowledge(got)
        ours.commit()
    assert on("stock") == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert on("orders") == []


@pytest.mark.spec("BRIDGE-10")
@pytest.mark.parametrize("acknowledged", [0, 1, 3])
def test_what_is_rolled_back_comes_again_in_order_and_was_not_sent(
    ours: AmqpSession, acknowledged: int
) -> None:
    source = ours.subscribe(ORDERS, prefetch=4)
    ours.begin()
    got = take(source, 3)
    ours.send([one.message for one in got], STOCK)
    source.acknowledge(got[:acknowledged])

    ours.roll_back()
    ours.roll_back()

    again = take(source, 6, acknowledges=True)
    assert bodies(again) == [b"1", b"2", b"3", b"4", b"5", b"6"]
    counts = [one.delivery_count for one in again]
    assert counts == [2] * acknowledged + [1] * (6 - acknowledged)
    assert on("stock") == []


def test_a_send_that_is_refused_leaves_the_transaction_to_the_link(
    ours: AmqpSession,
) -> None:
    make_queue("small", max_depth=1)
    ours.begin()
    assert ours.send(make_messages(2), STOCK) == [None, None]
    ours.send(make_messages(3), Destination("small"))  # at the commit it is full
    with pytest.raises(SendRefused, match=r"did not commit.*is full"):
        ours.commit()
    assert on("stock") == []
    ours.begin()
    ours.send(make_messages(1), STOCK)
    ours.commit()
    assert on("stock") == [b"1"]


def test_a_transaction_that_the_provider_ended_is_not_committed(
    here: Listening, ours: AmqpSession
) -> None:
    source = ours.subscribe(ORDERS, prefetch=4)
    ours.begin()
    got = take(source, 2)
    ours.send([one.message for one in got], STOCK)
    source.acknowledge(got)
    here.later(here.listener.limits.transaction_age_s + 1)

    with pytest.raises(SendRefused, match="did not commit"):
        ours.commit()

    assert bodies(take(source, 6, acknowledges=True)) == [
        *(b"1", b"2", b"3", b"4", b"5", b"6")
    ]
    assert on("stock") == []


def test_outside_of_a_transaction_nothing_waits(ours: AmqpSession) -> None:
    ours.begin()
    ours.roll_back()
    assert ours.send([NewMessage("", b"now")], STOCK) == [None]
    assert on("stock") == [b"now"]


def test_one_that_is_open_when_the_session_closes_is_rolled_back(
    here: Listening,
) -> None:
    with session(factory(here.port)) as ours:
        source = ours.subscribe(ORDERS, prefetch=2)
        ours.begin()
        source.acknowledge(take(source, 2))
        ours.send(make_messages(1), STOCK)
    until(lambda: len(on("orders")) == 6)
    assert on("stock") == []


def test_a_second_one_at_a_time_is_a_mistake_of_the_caller(ours: AmqpSession) -> None:
    ours.begin()
    with pytest.raises(ValueError, match="is open"):
        ours.begin()
    ours.roll_back()
    with pytest.raises(ValueError, match="no transaction"):
        ours.commit()
