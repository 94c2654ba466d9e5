"""What ActiveMQ takes and gives in one transaction."""

from __future__ import annotations

import pytest

from broker.bridges.providers.interface import Capability, Destination
from broker.errors.bridges import ProviderLost, SendRefused
from tests.broker.bridges.activemq import ActiveMQ
from tests.broker.bridges.stomp.conftest import Connected
from tests.broker.bridges.stomp.taking import (
    PATIENCE_S,
    bodies,
    left_on,
    take,
    text,
    texts,
)

TARGET = Destination("t.target")


def test_what_is_acknowledged_and_sent_is_committed_together(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(3), queue)
    subscription = session.subscribe(queue, prefetch=3)

    session.begin()
    session.send([text(10), text(11)], TARGET)
    subscription.acknowledge(subscription.receive(1, PATIENCE_S))
    assert left_on(connected(amq.factory()), TARGET) == []  # not before
    session.commit()
    session.close()

    other = connected(amq.factory())
    assert left_on(other, TARGET) == [b"10", b"11"]
    assert left_on(other, queue) == [b"1", b"2"]
    assert Capability.TRANSACTIONS in session.capabilities


def test_what_is_rolled_back_is_as_if_it_had_not_been(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(4), queue)
    subscription = session.subscribe(queue, prefetch=4)

    session.begin()
    session.send([text(10)], TARGET)
    take(subscription, 2)
    session.roll_back()
    session.roll_back()  # of none is harmless

    session.begin()
    again = take(subscription, 3)
    session.commit()
    session.close()
    assert bodies(again) == [b"0", b"1", b"2"]
    assert [one.redelivered for one in again] == [True, True, False]
    other = connected(amq.factory())
    assert left_on(other, TARGET) == []
    assert left_on(other, queue) == [b"3"]


def test_what_was_rolled_back_can_be_acknowledged_at_once(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(2), queue)
    subscription = session.subscribe(queue, prefetch=2)
    session.begin()
    came = take(subscription, 2)
    session.roll_back()

    subscription.release(came)  # they are back already
    subscription.acknowledge([came[1]])

    assert bodies(take(subscription, 1)) == [b"0"]
    session.close()
    assert left_on(connected(amq.factory()), queue) == []


@pytest.mark.parametrize("last", [TARGET, Destination("closed")], ids=str)
def test_a_send_that_is_refused_undoes_everything(
    amq: ActiveMQ, connected: Connected, queue: Destination, last: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(2), queue)
    subscription = session.subscribe(queue, prefetch=2)

    session.begin()
    take(subscription, 1)
    session.send([text(10)], Destination("closed"))
    session.send([text(11)], last)
    take(subscription, 1)
    with pytest.raises(SendRefused, match=r"did not commit .*not authorized to write"):
        session.commit()

    with pytest.raises(ProviderLost, match="a transaction was not committed"):
        session.begin()
    other = connected(amq.factory())
    assert left_on(other, TARGET) == []
    assert left_on(other, queue) == [b"0", b"1"]


def test_a_transaction_takes_many_batches(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())

    session.begin()
    assert session.send(texts(250), queue) == [None] * 250
    session.commit()
    subscription = session.subscribe(queue, prefetch=300)
    session.begin()
    came = take(subscription, 250, batch=120)
    session.commit()

    assert bodies(came) == [b"%d" % number for number in range(250)]
    session.close()
    assert left_on(connected(amq.factory()), queue) == []
