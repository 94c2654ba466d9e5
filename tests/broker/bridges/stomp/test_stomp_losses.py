"""What is told, and what is lost and doubled, when ActiveMQ dies or its wire breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from broker.bridges.providers.interface import Destination, Factory
from broker.errors.bridges import CommitInDoubt, ProviderLost
from tests.broker.bridges.activemq import ActiveMQ
from tests.broker.bridges.servers import HOST
from tests.broker.bridges.stomp.conftest import Connected
from tests.broker.bridges.stomp.proxy import Wire, wire_to
from tests.broker.bridges.stomp.taking import PATIENCE_S, left_on, take, text, texts

TARGET = Destination("t.after")


@pytest.fixture
def wire(amq: ActiveMQ) -> Iterator[Wire]:
    with wire_to(amq.port) as wire:
        yield wire


@pytest.fixture
def through(amq: ActiveMQ, wire: Wire) -> Factory:
    return amq.factory(url=f"stomp://{HOST}:{wire.port}")


@pytest.fixture(params=["cut", pytest.param("killed", marks=pytest.mark.long)])
def break_how(
    request: pytest.FixtureRequest, amq: ActiveMQ
) -> Iterator[Callable[[], None]]:
    """The wire breaks by itself, or because the broker dies; which starts again."""
    if request.param == "cut":
        yield lambda: None
        return
    yield amq.kill
    if amq.process is None:
        amq.start()


def alive(amq: ActiveMQ, wire: Wire) -> None:
    """Afterwards the broker is there again, if it was killed."""
    wire.wait()
    if amq.process is None:
        amq.start()


def test_who_waits_hears_at_once_that_the_broker_died(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    session = connected(amq.factory())
    session.send(texts(3), queue)
    subscription = session.subscribe(queue, prefetch=3)
    take(subscription, 1)
    subscription.receive(1, PATIENCE_S)

    amq.kill()
    try:
        with pytest.raises(ProviderLost, match="is lost"):
            while True:
                subscription.receive(5, PATIENCE_S)
        with pytest.raises(ProviderLost):
            session.send(texts(1), queue)
        with pytest.raises(ProviderLost):
            session.subscribe(queue)
        with pytest.raises(ProviderLost):
            session.begin()
        session.roll_back()
        subscription.close()
        session.close()
    finally:
        amq.start()

    assert left_on(connected(amq.factory()), queue) == [b"1", b"2"]


LONG = pytest.param(True, marks=pytest.mark.long, id="tls")


@pytest.mark.parametrize("tls", [pytest.param(False, id="plain"), LONG])
def test_a_broker_that_froze_is_lost_when_its_heart_does_not_beat(
    amq: ActiveMQ, connected: Connected, queue: Destination, *, tls: bool
) -> None:
    said = {"heartbeat": "1", "ca-file": str(amq.ca_file)}
    session = connected(amq.factory(tls=tls, properties=said))
    subscription = session.subscribe(queue)
    assert not tls or subscription.receive(1, 4) == []  # it beats

    amq.freeze()
    try:
        with pytest.raises(ProviderLost):
            subscription.receive(1, PATIENCE_S)
    finally:
        amq.thaw()


def test_no_receipt_is_waited_for_without_end(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    said = {"heartbeat": "0", "reply-timeout": "0.3"}
    session = connected(amq.factory(properties=said))
    session.begin()

    amq.freeze()
    try:
        with pytest.raises(CommitInDoubt, match=r"no answer in 0\.3 s.*is not known"):
            session.commit()
        with pytest.raises(ProviderLost, match=r"no answer in 0\.3 s"):
            session.send(texts(1), queue)
    finally:
        amq.thaw()


def test_over_tls_the_end_is_heard_as_well(
    amq: ActiveMQ, connected: Connected, queue: Destination
) -> None:
    with wire_to(amq.tls_port) as wire:
        trusting = amq.factory(tls=True, properties={"ca-file": str(amq.ca_file)})
        url = f"stomps://{HOST}:{wire.port}"
        session = connected(replace(trusting, url=url))
        subscription = session.subscribe(queue)

        wire.cut()

        with pytest.raises(ProviderLost):
            subscription.receive(1, PATIENCE_S)
        session.connection.transport.io_thread.join(PATIENCE_S)
        assert not session.connection.transport.io_thread.is_alive()


@pytest.mark.spec("BRIDGE-20")
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_between_send_and_receipt_nobody_knows(
    amq: ActiveMQ,
    connected: Connected,
    queue: Destination,
    wire: Wire,
    through: Factory,
    break_how: Callable[[], None],
    *,
    answered: bool,
) -> None:
    session = connected(through)
    assert session.send(texts(1), queue) == [None]

    wire.break_at(b"SEND", answered=answered, then=break_how)
    with pytest.raises(ProviderLost):
        session.send([text(1)], queue)

    alive(amq, wire)
    assert left_on(connected(amq.factory()), queue) == [b"0", b"1"][: 1 + answered]


@pytest.mark.spec("BRIDGE-20")
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_an_acknowledgement_that_is_lost_loses_no_message(
    amq: ActiveMQ,
    connected: Connected,
    queue: Destination,
    wire: Wire,
    through: Factory,
    break_how: Callable[[], None],
    *,
    answered: bool,
) -> None:
    connected(amq.factory()).send(texts(2), queue)
    subscription = connected(through).subscribe(queue, prefetch=2)

    wire.break_at(b"ACK", answered=answered, then=break_how)
    with pytest.raises(ProviderLost):
        take(subscription, 1)

    alive(amq, wire)
    left = left_on(connected(amq.factory()), queue)
    # who dies may have told what its disk does not have: at least once
    assert left in ([b"1"], [b"0", b"1"]) if answered else left == [b"0", b"1"]


@pytest.mark.spec("BRIDGE-20")
@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_between_commit_and_receipt_it_is_in_doubt_and_all_or_nothing(
    amq: ActiveMQ,
    connected: Connected,
    queue: Destination,
    wire: Wire,
    through: Factory,
    break_how: Callable[[], None],
    *,
    answered: bool,
) -> None:
    connected(amq.factory()).send(texts(3), queue)
    session = connected(through)
    subscription = session.subscribe(queue, prefetch=3)
    session.begin()
    session.send([text(10), text(11)], TARGET)
    take(subscription, 2)

    wire.break_at(b"COMMIT", answered=answered, then=break_how)
    with pytest.raises(CommitInDoubt, match="Whether the transaction was"):
        session.commit()
    session.roll_back()

    alive(amq, wire)
    other = connected(amq.factory())
    both = left_on(other, TARGET), left_on(other, queue)
    nothing: tuple[list[bytes], list[bytes]] = ([], [b"0", b"1", b"2"])
    assert both == (([b"10", b"11"], [b"2"]) if answered else nothing)


@pytest.mark.spec("BRIDGE-20")
def test_what_is_lost_before_the_commit_is_rolled_back(
    amq: ActiveMQ,
    connected: Connected,
    queue: Destination,
    wire: Wire,
    through: Factory,
) -> None:
    connected(amq.factory()).send(texts(2), queue)
    session = connected(through)
    subscription = session.subscribe(queue, prefetch=2)
    session.begin()
    session.send([text(10)], TARGET)
    take(subscription, 1)

    wire.cut()
    with pytest.raises(ProviderLost):
        subscription.receive(5, PATIENCE_S)
        subscription.receive(5, PATIENCE_S)
    with pytest.raises(ProviderLost):
        session.commit()

    other = connected(amq.factory())
    assert left_on(other, TARGET) == []
    assert left_on(other, queue) == [b"0", b"1"]
