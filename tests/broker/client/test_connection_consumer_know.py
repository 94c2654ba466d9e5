"""What ConnectionConsumers know of their queues and users, and who knows of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as configured

from broker.client.dispatch import connection_consumer
from broker.client.dispatch.server_session import ServerSession
from broker.errors.mq_codes import Report
from broker.errors.queues import NotAuthorized
from broker.models import (
    ConnectionConsumer,
    DeadLetter,
    Owner,
    Queue,
    QueueAlias,
    Ready,
)
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.queueing import processes
from broker.queueing.put import put, put_many
from broker.settlement import poison, settle
from tests.broker.handling import Seen, handler, refuse, running, session
from tests.broker.putting_away import got, poisonous, rounds
from tests.console.until import until
from tests.make import (
    make_messages,
    make_queue,
    make_setting,
    make_user,
)

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])
DLQ = configured.BROKER_DEAD_LETTER_QUEUE


@pytest.fixture
def dlq() -> Queue:
    return make_queue(DLQ)


@JOINED_OR_LEASED
@pytest.mark.spec("POISON-15", "POISON-3")
def test_a_handler_sees_a_message_as_often_as_the_threshold_says(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders", backout_threshold=3)
    put("orders", b"1")
    seen = Seen(refuse)
    rounds(session(handler(seen, join=join)))
    assert [d.backout_count for d in seen.deliveries] == [0, 1, 2]
    assert len(got(DLQ)) == 1


@JOINED_OR_LEASED
@pytest.mark.spec("POISON-15", "POISON-5")
def test_the_attributes_are_read_when_first_they_matter_and_then_kept(
    dlq: Queue, join: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = count_reads(monkeypatch)
    make_queue("orders", backout_threshold=2)
    put_many(make_messages(2))
    seen = Seen(refuse)
    server = session(handler(seen, join=join))
    beside = ServerSession(server.consumer)

    server.serve()
    assert reads() == 0
    server.serve()
    assert reads() == 1
    Queue.objects.filter(name="orders").update(backout_threshold=1)
    poisonous(b"3")
    rounds(server)
    rounds(beside)

    assert reads() == 1
    assert seen.bodies == [b"1", b"1", b"2", b"2", b"3"]
    assert session(handler(seen)).consumer.attributes().threshold == 1


@pytest.mark.spec("UNIFY-5", "UNIFY-3")
@pytest.mark.parametrize("policy", ["artemis", "none"])
def test_under_another_policy_no_consumer_looks_at_the_threshold(
    dlq: Queue, policy: str
) -> None:
    make_queue("orders", backout_threshold=1)
    make_queue("dead")
    make_setting(
        "orders",
        poison_policy=policy,
        max_delivery_attempts=3,
        dead_letter_address="dead",
    )
    descriptor = {"report": int(Report.EXCEPTION)}
    put("orders", descriptor=descriptor, reply_to="answers")
    seen = Seen(refuse)
    server = session(handler(seen))
    for _ in range(4):
        server.serve()

    assert got(DLQ) == []
    letters = got("dead")
    if policy == "none":
        assert (len(seen.deliveries), letters) == (4, [])
    else:
        (letter,) = letters
        assert (len(seen.deliveries), letter.headers) == (3, None)
        assert letter.properties["_AMQ_ORIG_QUEUE"] == "orders"


@pytest.mark.spec("UNIFY-5")
def test_however_a_message_died_its_story_is_told_alike(dlq: Queue) -> None:
    make_queue("orders", backout_threshold=2)
    make_queue("invoices")
    make_queue("dead")
    make_setting("invoices", max_delivery_attempts=2, dead_letter_address="dead")
    put("orders")
    put("invoices")
    for queue in ("orders", "invoices"):
        rounds(session(handler(Seen(refuse), queue=queue)))
    stories = DeadLetter.objects.order_by("origin_queue").values_list(
        "origin_queue", "cause", "reason", "backout_count", "error"
    )
    error = "ValueError: no such customer"
    assert list(stories) == [
        ("invoices", "MAX_DELIVERY_ATTEMPTS", None, 2, error),
        ("orders", "BACKOUT_THRESHOLD", 2362, 2, error),
    ]


@JOINED_OR_LEASED
@pytest.mark.spec("POISON-12")
def test_who_may_not_read_the_attributes_gets_nothing_and_nothing_is_lost(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders", backout_threshold=1)
    make_user("omar", granted=("get",))
    put("orders", b"new")
    seen = Seen()
    server = session(handler(seen, join=join, user="omar"))
    assert server.serve() == 1
    poisonous()
    with pytest.raises(NotAuthorized):
        server.serve()
    assert seen.bodies == [b"new"]
    assert Ready.objects.get().backout_count == 1
    assert not UnitOfWorkRow.objects.exists()


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize("name", ["vera", "nobody"])
def test_who_may_not_get_has_no_connection_consumer(name: str) -> None:
    make_queue("orders")
    make_user("vera", granted=("inquire",))
    with pytest.raises(NotAuthorized):
        session(handler(Seen(), user=name))
    assert not ConnectionConsumer.objects.exists()


def test_a_dispatchers_connection_consumers_are_there_for_all_to_see() -> None:
    orders = make_queue("orders")
    one = handler(
        Seen(), concurrency=2, selector="size > 5", retain_unwanted=False, join=False
    )
    with running(one):
        row = until(ConnectionConsumer.objects.first)
        assert row.owner_id == processes.current()
        assert (row.queue, row.handler) == (orders, one.name)
        assert (row.selector, row.retains_unwanted) == ("size > 5", False)
        assert row.server_sessions == 2
    assert not ConnectionConsumer.objects.exists()


def test_those_of_a_dead_process_are_forgotten_with_it() -> None:
    make_queue("orders")
    session(handler(Seen()))
    processes.resign()
    until(lambda: settle.back_out_overdue(limit=10) or not Owner.objects.exists())
    assert not ConnectionConsumer.objects.exists()


def test_a_connection_consumer_that_was_forgotten_is_made_anew() -> None:
    make_queue("orders")
    seen = Seen()
    with running(handler(seen)):
        first = until(ConnectionConsumer.objects.first)
        ConnectionConsumer.objects.all().delete()
        second = until(ConnectionConsumer.objects.first)
        put("orders", b"1")
        until(lambda: seen.bodies)
    assert first.pk != second.pk


def test_a_handler_may_be_of_an_alias() -> None:
    make_queue("orders")
    QueueAlias.objects.create(name="bookings", target="orders")
    put("orders", b"1")
    seen = Seen()
    rounds(session(handler(seen, queue="bookings")))
    assert seen.bodies == [b"1"]


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often a queue's attributes are read from now on."""
    reads: list[str] = []

    def attributes_of(name: str, **rest: Any) -> poison.Attributes:
        reads.append(name)
        return poison.attributes_of(name, **rest)

    monkeypatch.setattr(connection_consumer, "attributes_of", attributes_of)
    return lambda: len(reads)
