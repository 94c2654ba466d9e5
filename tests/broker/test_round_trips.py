"""How often each kind of work waits for PostgreSQL, counted on the wire. All of its
statements are prepared before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import transaction

from broker.client import (
    Delivery,
    NewMessage,
    Reject,
    connect,
    consumer,
    put,
    put_many,
    unit_of_work,
)
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.server_session import ServerSession
from broker.client.jms.listeners import Listening
from broker.models import Address, Claim, Ready
from broker.queueing import low_watermarks
from tests.broker.handling import Seen, handler
from tests.broker.wire import counted
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def nothing_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the low watermarks is due by time, whatever the work is."""
    monkeypatch.setattr(low_watermarks, "SAMPLE_S", math.inf)


class Failed(Exception):
    """The error of a handler."""


def put_one() -> None:
    put("orders", b"1")


def put_hundred() -> None:
    put_many(make_messages(100))


def put_in_a_transaction() -> None:
    with transaction.atomic():
        put("orders", b"1")


def put_many_in_a_transaction() -> None:
    with transaction.atomic():
        put_many(make_messages(100))


def handled(*, join: bool = False, limit: int = 1, fails: bool = False) -> None:
    try:
        with unit_of_work(join=join) as work:
            assert len(work.get("orders", limit)) == limit
            if fails:
                raise Failed
    except Failed:
        pass


def only_put() -> None:
    with unit_of_work() as work:
        work.put("orders", b"1")


def got_and_put_on() -> None:
    with unit_of_work() as work:
        assert work.get("orders")
        work.put("orders", b"1")


def joined() -> None:
    handled(join=True)


def leased_fails() -> None:
    handled(fails=True)


def joined_fails() -> None:
    handled(join=True, fails=True)


def hundred() -> None:
    handled(limit=100)


def hundred_fail() -> None:
    handled(limit=100, fails=True)


def dies() -> None:
    handled(fails=True)


def joined_dies() -> None:
    handled(join=True, fails=True)


def hundred_die() -> None:
    handled(limit=100, fails=True)


def rejected() -> None:
    try:
        with unit_of_work() as work:
            assert work.get("orders")
            raise Reject("no")
    except Reject:
        pass


def rejected_to_a_created_queue() -> None:
    rejected()


def write_a_row(_: object = None) -> None:
    Address.objects.filter(pk=0).update(name="")


def joined_with_a_row() -> None:
    with unit_of_work(join=True) as work:
        assert work.get("orders")
        write_a_row()


TABLE: dict[Callable[[], None], int] = {
    put_one: 1,
    put_hundred: 1,
    put_in_a_transaction: 3,
    put_many_in_a_transaction: 3,
    handled: 2,
    hundred: 2,
    only_put: 3,
    got_and_put_on: 5,
    joined: 2,
    joined_with_a_row: 5,  # one is the row's own, two begin and commit
    leased_fails: 2,
    joined_fails: 2,
    hundred_fail: 2,
    dies: 2,
    joined_dies: 2,
    hundred_die: 2,
    rejected: 2,
    rejected_to_a_created_queue: 4,  # two read for the selector of the queue
}
DEADLY = {dies, joined_dies, hundred_die}


@pytest.mark.parametrize("work", TABLE, ids=lambda work: work.__name__)
def test_work_waits_for_the_database_so_often(work: Callable[[], None]) -> None:
    make_queue("orders")
    make_queue("DLQ")
    creates = work is rejected_to_a_created_queue
    make_setting(
        max_delivery_attempts=1 if work in DEADLY else -1,
        dead_letter_address="DLA" if creates else "DLQ",
        auto_create_dead_letter_resources=creates,
    )
    put_many([NewMessage("orders") for _ in range(400)])
    work()
    work()

    with counted() as sent:
        work()

    assert (sent.round_trips, sent.parses) == (TABLE[work], 0)


@pytest.mark.parametrize("prefetch", [1, 2])
def test_a_listener_accepts_its_messages_and_gets_the_next_at_once(
    prefetch: int, statements: list[str]
) -> None:
    """With two at a time, the first of them is accepted alone."""
    make_queue("orders")
    put_many([NewMessage("orders") for _ in range(6)])
    with connect() as connection, connection.session(prefetch=prefetch) as session:
        listener = Listening(session)
        receiving = session.consumer("orders")
        receiving.listener = id
        for _ in range(2):
            assert listener.hand_next(receiving)
        statements.clear()

        for _ in range(2):
            assert listener.hand_next(receiving)
        both = {1: ["accept, get_each"] * 2, 2: ["take_some", "end", "accept, get"]}
        assert statements == both[prefetch]
    assert Ready.objects.count() == 2, "the session has given back what it got"
    assert not Claim.objects.exists()


def go_on(steps: Iterator[Delivery], batch: int) -> None:
    for _ in range(batch):
        next(steps)


@pytest.mark.parametrize(
    ("batch", "address", "round_trips"), [(1, None, 1), (100, None, 1), (1, "done", 4)]
)
def test_a_step_of_a_consumer_loop_waits_so_often(
    batch: int, address: str | None, round_trips: int
) -> None:
    make_queue("orders")
    make_queue("done")
    put_many([NewMessage("orders") for _ in range(400)])
    with consumer("orders", batch=batch) as deliveries:
        steps = iter(deliveries)
        for _ in range(3):
            go_on(steps, batch)
            if address is not None:
                deliveries.put(address)

        with counted() as sent:
            next(steps)

    assert (sent.round_trips, sent.parses) == (round_trips, 0)


@pytest.mark.parametrize(
    "fields",
    [{}, {"redelivery_delay_ms": 60_000}, {"max_delivery_attempts": 1}],
    ids=["again", "delayed", "dead"],
)
def test_a_message_that_fails_in_a_loop_waits_once(fields: dict[str, Any]) -> None:
    """What gets the next one, or the same one again, is the same statement."""
    make_queue("orders")
    make_queue("DLQ")
    unlimited: dict[str, Any] = {"max_delivery_attempts": -1}
    make_setting(dead_letter_address="DLQ", **unlimited | fields)
    put_many(make_messages(9))
    with consumer("orders") as deliveries:
        steps = iter(deliveries)
        for _ in range(4):
            next(steps)
            deliveries.back_out(Failed())

        with counted() as sent:
            next(steps)

    assert (sent.round_trips, sent.parses) == (1, 0)


def fail(_: object) -> None:
    raise Failed


@pytest.mark.parametrize("join", [True, False])
def test_a_message_whose_handler_fails_waits_once(join: bool) -> None:
    make_queue("orders")
    make_setting(max_delivery_attempts=-1)
    put("orders")
    consumer = ConnectionConsumer.open(handler(Seen(fail), join=join))
    with closing(ServerSession(consumer, goes_on=lambda: True)) as session:
        for _ in range(3):
            session.serve()

        with counted() as sent:
            assert session.serve() == 1

    assert (sent.round_trips, sent.parses) == (1, 0)
    assert Ready.objects.get().backout_count == 4


@pytest.mark.parametrize(
    ("does", "join", "round_trips"),
    [(id, True, 1), (id, False, 1), (write_a_row, True, 4), (write_a_row, False, 2)],
)
def test_a_consumer_accepts_a_message_and_gets_the_next_at_once(
    does: Callable[[object], object], join: bool, round_trips: int
) -> None:
    make_queue("orders")
    put_many([NewMessage("orders") for _ in range(5)])
    consumer = ConnectionConsumer.open(handler(Seen(does), join=join))
    with closing(ServerSession(consumer, goes_on=lambda: True)) as session:
        for _ in range(3):
            session.serve()

        with counted() as sent:
            assert session.serve() == 1

    assert (sent.round_trips, sent.parses) == (round_trips, 0)
    assert Ready.objects.count() == 1, "the session has given back what it got"


@pytest.mark.parametrize("join", [True, False])
def test_a_consumer_accepts_a_batch_and_gets_the_next_at_once(join: bool) -> None:
    make_queue("orders")
    put_many([NewMessage("orders") for _ in range(10)])
    consumer = ConnectionConsumer.open(handler(Seen(id), join=join, batch=2))
    with closing(ServerSession(consumer, goes_on=lambda: True)) as session:
        for _ in range(3):
            session.serve()

        with counted() as sent:
            assert session.serve() == 2

    assert (sent.round_trips, sent.parses) == (1, 0)
    assert Ready.objects.count() == 2, "the session has given back what it got"
    assert not Claim.objects.exists()
