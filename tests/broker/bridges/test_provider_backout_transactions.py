"""The provider "another Backout": its transactions, in one phase and in two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.bridges.providers import registry
from broker.bridges.providers.backout.session import BackoutSession
from broker.bridges.providers.interface import Destination
from broker.errors.bridges import (
    CommitInDoubt,
    ProviderLost,
    SendRefused,
    WrongFactory,
)
from broker.models import Queue
from broker.queueing.put import put_many
from tests.broker.bridges.other_backout import OtherBackout
from tests.broker.promising import ready
from tests.make import make_messages, make_queue

ORDERS, BOOKED = Destination("orders"), Destination("booked")


@pytest.fixture
def orders(other: OtherBackout) -> Queue:
    with other.instead():
        return make_queue("orders")


@pytest.fixture
def booked(other: OtherBackout) -> Queue:
    with other.instead():
        return make_queue("booked")


@pytest.fixture
def session(
    other: OtherBackout, orders: Queue, booked: Queue
) -> Iterator[BackoutSession]:
    found = connect(other)
    yield found
    found.close()


def connect(other: OtherBackout) -> BackoutSession:
    found = registry.connect(other.factory(client_id="link 7"))
    assert isinstance(found, BackoutSession)
    return found


def put_orders(other: OtherBackout, count: int) -> None:
    with other.instead():
        put_many(make_messages(count))


def depths(other: OtherBackout, *queues: Queue) -> list[int]:
    with other.instead():
        return [ready(one) for one in queues]


@pytest.mark.spec("BRIDGE-21")
def test_what_is_acknowledged_and_sent_is_prepared_and_committed(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 5)
    subscription = session.subscribe(ORDERS)
    session.begin()
    got = [*subscription.receive(2, 0), *subscription.receive(2, 0)]
    subscription.acknowledge(got[:3])
    session.send(make_messages(2), BOOKED)

    session.prepare("link-7:1")

    assert session.in_doubt("link-7:") == ["link-7:1"]
    assert session.in_doubt("link-8:") == []
    assert depths(other, orders, booked) == [2, 0]  # what nobody acknowledged is back
    session.commit_prepared("link-7:1")
    session.commit_prepared("link-7:1")
    assert session.in_doubt("link-7:") == []
    assert depths(other, orders, booked) == [2, 2]
    assert other.sql("SELECT count(*) FROM broker_unit_of_work") == [(0,)]


@pytest.mark.spec("BRIDGE-21")
def test_a_prepared_transaction_is_undone(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 3)
    subscription = session.subscribe(ORDERS)
    session.begin()
    subscription.acknowledge(subscription.receive(2, 0))
    session.send(make_messages(2), BOOKED)
    session.prepare("x")

    session.roll_back_prepared("x")
    session.roll_back_prepared("x")

    assert depths(other, orders, booked) == [3, 0]
    got = subscription.receive(10, 0)
    assert [one.message.body for one in got] == [b"1", b"2", b"3"]
    assert not any(one.redelivered for one in got)


@pytest.mark.thorough
@pytest.mark.spec("BRIDGE-21")
def test_what_is_prepared_outlives_the_web_process_and_the_session(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 3)
    subscription = session.subscribe(ORDERS)
    session.begin()
    subscription.acknowledge(subscription.receive(1, 0))
    session.send(make_messages(1), BOOKED)
    session.prepare("x")
    session.begin()
    held = subscription.receive(1, 0)

    other.kill()
    with pytest.raises(ProviderLost):
        session.commit_prepared("x")
    other.start()

    after = connect(other)
    assert after.in_doubt("") == ["x"]
    after.commit_prepared("x")
    assert depths(other, booked) == [1]
    again = after.subscribe(ORDERS)  # and has what the one before held
    got = again.receive(10, 0)
    assert [one.message.body for one in got] == [b"2", b"3"]
    assert got[0].message == held[0].message
    again.acknowledge(got)
    after.close()


@pytest.mark.long
@pytest.mark.spec("BRIDGE-21")
def test_a_prepare_that_was_not_answered_is_found_or_not(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    put_orders(other, 1)
    subscription = session.subscribe(ORDERS)
    session.begin()
    subscription.acknowledge(subscription.receive(1, 0))

    other.kill()
    with pytest.raises(ProviderLost):
        session.prepare("x")
    session.roll_back()
    other.start()

    assert session.in_doubt("") == []
    session.subscribe(ORDERS)
    assert depths(other, orders) == [1]


def test_a_transaction_is_committed_in_one_phase(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 2)
    subscription = session.subscribe(ORDERS)
    session.begin()
    first, second = subscription.receive(2, 0)
    subscription.acknowledge([first])
    session.send(make_messages(2), BOOKED)
    assert depths(other, booked) == [0]

    session.commit()

    assert depths(other, orders, booked) == [0, 2]
    subscription.acknowledge([second])
    session.begin()
    session.send(make_messages(1), BOOKED)
    session.commit()
    session.begin()
    session.commit()
    assert depths(other, orders, booked) == [0, 3]


@pytest.mark.long
def test_a_commit_that_is_not_answered_is_in_doubt(
    other: OtherBackout, session: BackoutSession
) -> None:
    session.begin()
    session.send(make_messages(1), BOOKED)
    other.kill()

    with pytest.raises(CommitInDoubt, match="there is no answer"):
        session.commit()


def test_a_transaction_is_rolled_back(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 3)
    subscription = session.subscribe(ORDERS)
    session.begin()
    got = subscription.receive(2, 0)
    subscription.acknowledge(got)
    session.send(make_messages(1), BOOKED)

    session.roll_back()
    session.roll_back()

    assert depths(other, orders, booked) == [3, 0]
    with pytest.raises(ProviderLost, match="no longer held"):
        subscription.acknowledge(got)


@pytest.mark.parametrize("in_two_phases", [True, False])
def test_what_cannot_be_committed_is_rolled_back(
    other: OtherBackout, session: BackoutSession, orders: Queue, *, in_two_phases: bool
) -> None:
    with other.instead():
        make_queue("small", max_depth=1)
    put_orders(other, 2)
    subscription = session.subscribe(ORDERS)
    for to, error in (("small", SendRefused), ("nowhere", (SendRefused, WrongFactory))):
        session.begin()
        subscription.acknowledge(subscription.receive(2, 0))
        session.send(make_messages(2), Destination(to))

        with pytest.raises(error):
            if in_two_phases:
                session.prepare("x")
            else:
                session.commit()

        assert depths(other, orders) == [2]
        assert session.in_doubt("") == []


def test_a_prepared_transaction_that_cannot_be_committed_waits(
    other: OtherBackout, session: BackoutSession
) -> None:
    with other.instead():
        small = make_queue("small", max_depth=1)
    session.begin()
    session.send(make_messages(1), Destination("small"))
    session.prepare("x")
    session.send(make_messages(1), Destination("small"))

    with pytest.raises(ProviderLost, match="full"):
        session.commit_prepared("x")

    assert session.in_doubt("") == ["x"]
    small_one = session.subscribe(Destination("small"))
    small_one.acknowledge(small_one.receive(1, 0))
    session.commit_prepared("x")
    assert depths(other, small) == [1]


@pytest.mark.spec("BRIDGE-21")
def test_a_commit_goes_first_with_the_next_request(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 2)
    subscription = session.subscribe(ORDERS)
    for xid in ("a", "b"):
        session.begin()
        session.send(make_messages(1), BOOKED)
        session.prepare(xid)  # "b" commits "a"
        session.to_commit = xid
    assert (session.to_commit, session.in_doubt("")) == ("b", ["b"])
    assert depths(other, booked) == [1]

    assert len(subscription.receive(2, 0)) == 2

    assert (session.to_commit, session.in_doubt("")) == ("", [])
    assert depths(other, orders, booked) == [0, 2]


@pytest.mark.spec("BRIDGE-21")
@pytest.mark.parametrize("commit", [True, False])
def test_a_refusal_is_that_of_the_commit_or_of_the_next_request(
    other: OtherBackout, session: BackoutSession, booked: Queue, *, commit: bool
) -> None:
    """One request has both; whose refusal it is shows when each is asked alone."""
    with other.instead():
        small = make_queue("small", max_depth=1)
    first, second = (Destination("small"), BOOKED)[:: 1 if commit else -1]
    session.begin()
    session.send(make_messages(1), first)
    session.prepare("x")
    session.to_commit = "x"
    with other.instead():
        put_many(make_messages(1, "small"))
    session.begin()
    session.send(make_messages(1), second)

    with pytest.raises(ProviderLost if commit else SendRefused, match="full"):
        session.prepare("y")

    assert session.in_doubt("") == (["x"] if commit else [])
    assert depths(other, small, booked) == [1, 0 if commit else 1]


def test_one_transaction_acknowledges_what_one_subscription_received(
    other: OtherBackout, session: BackoutSession, orders: Queue, booked: Queue
) -> None:
    put_orders(other, 1)
    session.send(make_messages(1), BOOKED)
    session.begin()
    for to in (ORDERS, BOOKED):
        subscription = session.subscribe(to)
        subscription.acknowledge(subscription.receive(1, 0))

    with pytest.raises(SendRefused, match="one subscription"):
        session.prepare("x")

    assert depths(other, orders, booked) == [1, 1]


def test_nothing_is_received_by_a_link_that_pauses(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    put_orders(other, 1)
    assert session.subscribe(ORDERS).receive(0, 0) == []
    assert depths(other, orders) == [1]


def test_another_credential_ends_nothing(
    other: OtherBackout, session: BackoutSession
) -> None:
    session.begin()
    session.send(make_messages(1), BOOKED)
    session.prepare("x")
    stranger = registry.connect(other.factory(password=other.credential("stranger")))

    stranger.commit_prepared("x")
    stranger.roll_back_prepared("x")

    assert stranger.in_doubt("") == []
    assert session.in_doubt("") == ["x"]
    stranger.close()


def test_a_name_that_is_none_is_refused(session: BackoutSession) -> None:
    session.begin()
    session.send(make_messages(1), BOOKED)

    with pytest.raises(SendRefused, match="xid"):
        session.prepare("a b")
