"""What a client leaves behind: in order, or without a word."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.events import Ended
from broker.models import Claim, CountsWhenLost, Queue, Ready, UnitOfWork
from broker.queueing.put import put, put_many
from tests.amqp.getting import SETTLED, Getting, attach, bodies, getting, listener
from tests.amqp.listening import Listening
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


def backouts() -> list[int]:
    """Of what is ready, in order, once nothing is held."""
    until(lambda: not UnitOfWork.objects.exists())
    ready = Ready.objects.order_by("-priority", "pos")
    return list(ready.values_list("backout_count", flat=True))


def with_five(here: Listening, *, got: int = 5) -> Getting:
    """A client that has got some of five messages."""
    put_many(make_messages(5))
    client = getting(here)
    client.grant(got)
    client.get(got)
    return client


@pytest.mark.spec("UOW-4")
def test_what_is_detached_goes_back_in_order_at_once_and_uncounted() -> None:
    make_queue()
    make_setting("orders", redelivery_delay_ms=60_000)
    with listener() as here:
        client = with_five(here)
        client.detach()
        assert backouts() == [0, 0, 0, 0, 0]
        assert getting(here).take_all() == [b"1", b"2", b"3", b"4", b"5"]


def test_what_was_said_before_the_detach_holds() -> None:
    make_queue()
    with listener() as here:
        client = with_five(here)
        client.receiver.session.settle(client.got[:2], p.Accepted())
        client.receiver.session.settle(
            client.got[2:3], p.Modified(delivery_failed=True)
        )
        client.detach()
        assert backouts() == [1, 0, 0]


def test_the_end_of_a_session_is_an_orderly_one() -> None:
    make_queue()
    with listener() as here:
        client = with_five(here)
        client.session.end()
        client.wire.expect(Ended)
        assert backouts() == [0, 0, 0, 0, 0]


def test_a_close_is_an_orderly_end() -> None:
    make_queue()
    with listener() as here:
        with_five(here).wire.close()
        assert backouts() == [0, 0, 0, 0, 0]


@pytest.mark.spec("UOW-4")
@pytest.mark.parametrize(
    ("policy", "counted"),
    [
        (CountsWhenLost.ALL, [1, 1, 1, 0, 0]),
        (CountsWhenLost.OLDEST, [1, 0, 0, 0, 0]),
        (CountsWhenLost.NONE, [0, 0, 0, 0, 0]),
    ],
)
def test_a_lost_client_counts_as_the_queue_says(
    policy: CountsWhenLost, counted: list[int]
) -> None:
    make_queue(counts_when_lost=policy)
    with listener() as here:
        with_five(here, got=3).wire.drop()
        assert backouts() == counted


def test_the_oldest_is_what_the_client_had_longest() -> None:
    make_queue(counts_when_lost=CountsWhenLost.OLDEST)
    with listener() as here:
        put("orders", b"low", priority=1)
        put("orders", b"high", priority=9)
        client = getting(here)
        client.grant(2)
        assert bodies(client.get(2)) == [b"high", b"low"]
        client.wire.drop()
        assert backouts() == [1, 0]


def test_what_a_lost_client_had_settled_is_settled() -> None:
    make_queue()
    with listener() as here:
        client = with_five(here, got=3)
        client.say(client.got[:2], p.Accepted())
        client.wire.drop()
        assert backouts() == [1, 0, 0]


def test_a_poison_message_that_kills_its_clients_is_put_aside() -> None:
    make_queue(counts_when_lost=CountsWhenLost.OLDEST)
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="DLA")
    put_many(make_messages(3))
    with listener() as here:
        for _ in range(3):
            client = getting(here)
            client.grant(3)
            assert len(client.get(3)) == 3
            client.wire.drop()
            until(lambda: not UnitOfWork.objects.exists())
        assert getting(here).take_all() == [b"2", b"3"]


def test_what_was_wanted_settled_is_not_given_back() -> None:
    make_queue()
    put_many(make_messages(5))
    with listener() as here:
        client = getting(here, mode=SETTLED)
        client.grant(2)
        client.get(2)
        client.wire.drop()
        until(lambda: not here.listener.clients)
    assert Ready.objects.count() == 3


def test_a_client_that_detaches_at_once_leaves_nothing_behind() -> None:
    make_queue()
    put_many(make_messages(200))
    with listener() as here:
        wire = here.client()
        for number in range(20):
            client = attach(wire, name=f"gets-{number}")
            client.grant(100)
            client.detach()
        until(lambda: len(backouts()) == 200)  # what was being got comes back after it
        assert backouts() == [0] * 200
        (there,) = here.listener.clients
        assert here.call(lambda: there.in_flight_bytes) == 0
        assert here.call(lambda: not here.listener.waking.lines)


def test_the_listener_s_own_end_is_orderly() -> None:
    make_queue()
    with listener() as here:
        with_five(here)
    assert backouts() == [0, 0, 0, 0, 0]


def test_a_client_that_does_not_read_holds_little_and_leaves_it_all() -> None:
    queue: Queue = make_queue(counts_when_lost=CountsWhenLost.NONE)
    put_many(make_messages(400))
    body = bytes(100_000)
    for _ in range(8):
        put_many([type(one)("orders", body) for one in make_messages(50)])
    with listener() as here:
        client = getting(here)
        client.grant(1_000_000)
        until(lambda: Claim.objects.exists())
        until(lambda: here.call(lambda: all(c.paused for c in here.listener.clients)))
        held = sum(len(claim.ids) for claim in Claim.objects.all())
        assert held < 800
        client.wire.drop()
        until(lambda: not UnitOfWork.objects.exists())
    assert Ready.objects.filter(queue_id=queue.pk).count() == 800
