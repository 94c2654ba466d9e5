"""What can go wrong between the provider of AMQP and a listener, and its name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.amqp.subscription import AmqpSubscription
from broker.errors.bridges import (
    CommitInDoubt,
    ProviderLost,
)
from broker.models import Ready
from broker.queueing.put import put_many
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
from tests.broker.bridges.between import Between, between
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = [
    pytest.mark.usefixtures("transactional_db"),
    pytest.mark.spec("BRIDGE-19"),
]

ATTACH, TRANSFER, DISPOSITION, DETACH = b"\0S\x12", b"\0S\x14", b"\0S\x15", b"\0S\x16"
DECLARE, DISCHARGE, CLOSE = b"\0S\x31", b"\0S\x32", b"\0S\x18"
QUICK = {"timeout-s": "0.4"}


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    make_queue("orders")
    make_queue("stock")
    with listener() as listening:
        yield listening


@pytest.fixture
def net(here: Listening) -> Iterator[Between]:
    """The way to the listener."""
    with between(here.port) as way:
        yield way


def begin(ours: AmqpSession) -> AmqpSubscription:
    """A transaction in which a message was received and sent."""
    source = ours.subscribe(ORDERS, prefetch=2)
    ours.begin()
    got = take(source, 1)
    ours.send([got[0].message], STOCK)
    source.acknowledge(got)
    return source


Step = Callable[[AmqpSession, AmqpSubscription], object]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("behind", "step", "error"),
    [
        (ATTACH, lambda ours, _: ours.subscribe(STOCK), ProviderLost),
        (ATTACH, lambda ours, _: ours.send(make_messages(1), STOCK), ProviderLost),
        (TRANSFER, lambda ours, _: ours.send(make_messages(9), STOCK), ProviderLost),
        (DECLARE, lambda ours, _: ours.begin(), ProviderLost),
        (DISPOSITION, lambda _, source: settle(source), ProviderLost),
        (DISPOSITION, lambda _, source: settle(source, gives=True), ProviderLost),
        (DETACH, lambda _, source: source.close(), None),
        (CLOSE, lambda ours, _: ours.close(), None),
    ],
)
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_connection_that_breaks_in_a_step_is_a_lost_provider(
    net: Between, behind: bytes, step: Step, error: type[Exception] | None, is_cut: bool
) -> None:
    """Where it is not cut, the listener is not heard any more."""
    put_many(make_messages(3))
    with session(factory(net.port, properties=QUICK)) as ours:
        source = ours.subscribe(ORDERS, prefetch=3)
        if is_cut:
            net.cuts_behind = behind
        else:
            take(source, 3)
            net.is_deaf = True
        if error is None or (not is_cut and behind == DISPOSITION):
            step(ours, source)  # nothing answers to it
            return
        with pytest.raises(error):
            step(ours, source)
        with pytest.raises(ProviderLost):
            ours.send(make_messages(1), ORDERS)
        with pytest.raises(ProviderLost):
            source.receive(1, 1)


def settle(source: AmqpSubscription, *, gives: bool = False) -> None:
    got = source.receive(3, 0.3)
    source.release(got) if gives else source.acknowledge(got)
    if got:
        take(source, 3)


def test_a_broken_connection_is_noticed_while_waiting(net: Between) -> None:
    with session(factory(net.port)) as ours:
        source = ours.subscribe(ORDERS)
        threading.Timer(0.2, net.cut).start()
        with pytest.raises(ProviderLost, match=r"closed the connection|broke"):
            source.receive(1, 30)


@pytest.mark.spec("BRIDGE-13")
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_commit_without_an_answer_is_in_doubt(net: Between, is_cut: bool) -> None:
    put_many(make_messages(2))
    with session(factory(net.port, properties=QUICK)) as ours:
        begin(ours)
        if is_cut:
            net.cuts_behind = DISCHARGE
        else:
            net.is_deaf = True
        with pytest.raises(CommitInDoubt, match="did not answer"):
            ours.commit()
        ours.roll_back()
        with pytest.raises(ProviderLost):
            ours.begin()
    until(lambda: Ready.objects.count() == 2)  # 2 is there, and 1 here or there


def test_a_connection_that_broke_before_the_commit_is_rolled_back(
    net: Between,
) -> None:
    put_many(make_messages(2))
    with session(factory(net.port)) as ours:
        source = begin(ours)
        net.cut()
        with pytest.raises(ProviderLost) as raised:
            source.receive(1, 30)
        assert not isinstance(raised.value, CommitInDoubt)
        with pytest.raises(ProviderLost):
            ours.commit()
        ours.roll_back()
    until(lambda: on("orders") == [b"1", b"2"])
    assert on("stock") == []


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_roll_back_is_harmless_whatever_broke(net: Between, is_cut: bool) -> None:
    put_many(make_messages(2))
    with session(factory(net.port, properties=QUICK)) as ours:
        begin(ours)
        net.cuts_behind, net.is_deaf = (DISCHARGE, False) if is_cut else (None, True)
        ours.roll_back()
        ours.roll_back()
    until(lambda: on("orders") == [b"1", b"2"])


@pytest.mark.thorough
def test_silence_is_noticed(net: Between) -> None:
    with session(factory(net.port, properties={"idle-timeout": "0.5"})) as ours:
        source = ours.subscribe(ORDERS)
        assert source.receive(0, 1.0) == []  # heartbeats come
        net.is_deaf = True
        with pytest.raises(ProviderLost, match=r"nothing came for 0\.5 seconds"):
            source.receive(1, 30)


def test_while_it_waits_the_listener_hears_of_it(transactional_db: None) -> None:
    make_queue("orders")
    with listener(idle_timeout_s=0.6) as here, session(factory(here.port)) as ours:
        source = ours.subscribe(ORDERS)
        assert source.receive(0, 1.0) == source.receive(1, 1.0) == []
        ours.send(make_messages(1), ORDERS)
        assert bodies(take(source, 1)) == [b"1"]


def test_a_listener_that_stops_says_so(here: Listening) -> None:
    with session(factory(here.port)) as ours:
        source = ours.subscribe(ORDERS)
        stopped = here.begin_to_stop()
        with pytest.raises(ProviderLost, match="amqp:connection:forced"):
            source.receive(1, 30)
        stopped.result(30)


def test_a_queue_that_is_full_for_long_is_a_lost_provider(
    transactional_db: None,
) -> None:
    make_queue("orders")
    with listener(put_credit=0) as here:
        made = factory(here.port, properties=QUICK)
        with (
            session(made) as ours,
            pytest.raises(ProviderLost, match="give credit to send to queue:orders"),
        ):
            ours.send(make_messages(1), ORDERS)
