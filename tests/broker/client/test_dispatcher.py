"""The dispatcher: handlers, and what becomes of what they were given."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection

from broker.client.dispatch import handlers
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import Handler, consumes
from broker.errors.messages import InvalidSelector
from broker.models import Address, Kind, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing import journal, notifications
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.handling import Seen, handle_next, handler, refuse, running
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])


@pytest.fixture
def orders() -> Queue:
    return make_queue("orders")


@JOINED_OR_LEASED
def test_what_a_handler_returns_from_is_accepted(orders: Queue, join: bool) -> None:
    put("orders", b"1")
    seen = Seen()

    handled = [handle_next(handler(seen, join=join)) for _ in range(2)]

    assert handled == [1, 0]
    assert seen.bodies == [b"1"]
    depth = journal.depths()[orders.pk]
    assert (depth.total, depth.done[Kind.ACCEPT]) == (0, 1)


@JOINED_OR_LEASED
@pytest.mark.spec("UOW-2")
def test_what_a_handler_raises_from_is_backed_out_with_its_words(
    orders: Queue, join: bool
) -> None:
    message_id = put("orders").message_id

    handled = handle_next(handler(Seen(refuse), join=join))

    assert handled == 1
    assert Ready.objects.get().backout_count == 1
    last = journal.lifeline(message_id)[-1]
    assert last.detail["error"] == "ValueError: no such customer"
    assert last.actor == handler(Seen(refuse)).name
    assert fsck.violations() == []


@JOINED_OR_LEASED
def test_a_poison_message_gets_past_its_handler_after_its_attempts(
    orders: Queue, join: bool
) -> None:
    dlq = make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="DLA")
    put_many(make_messages(2))
    seen = Seen(lambda delivery: refuse(delivery) if delivery.body == b"1" else None)

    while handle_next(handler(seen, join=join)):
        pass

    assert seen.bodies == [b"1", b"1", b"1", b"2"]
    assert [row.queue_id for row in Ready.objects.all()] == [dlq.pk]


@pytest.mark.spec("UOW-1")
def test_joined_rows_are_committed_with_the_acceptance_or_undone(orders: Queue) -> None:
    put_many(make_messages(2))

    def write(delivery: Delivery) -> None:
        Address.objects.create(name=delivery.body.decode())
        if delivery.body == b"2":
            refuse(delivery)

    handle_next(handler(Seen(write)))
    handle_next(handler(Seen(write)))

    assert list(Address.objects.filter(name__in="12").values_list("name")) == [("1",)]
    (left,) = Ready.objects.all()
    assert left.backout_count == 1


def test_joined_rows_that_cannot_be_written_back_their_message_out(
    orders: Queue,
) -> None:
    message_id = put("orders").message_id
    write = Seen(lambda _: Address.objects.create(name="orders"))

    assert handle_next(handler(write)) == 1

    last = journal.lifeline(message_id)[-1]
    assert last.detail["error"].startswith(IntegrityError.__name__)
    assert Ready.objects.get().backout_count == 1


def test_while_a_joined_handler_works_nobody_else_sees_its_message(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    put("orders")
    seen_by_others: list[Any] = []

    def look(_: Delivery) -> None:
        elsewhere.begin()
        seen_by_others.append(elsewhere(UnitOfWork().get, "orders"))
        elsewhere.commit()
        raise ValueError

    handle_next(handler(Seen(look)))

    assert seen_by_others == [[]]
    assert Ready.objects.get().backout_count == 1


@JOINED_OR_LEASED
@pytest.mark.spec("UOW-1")
def test_what_a_handler_puts_goes_with_its_acceptance(
    orders: Queue, join: bool
) -> None:
    audit = make_queue("audit")
    put_many(make_messages(2))

    def answer(delivery: Delivery, work: UnitOfWork) -> None:
        work.put("audit", delivery.body)
        if delivery.body == b"2":
            refuse(delivery)

    handle_next(handler(answer, join=join))
    handle_next(handler(answer, join=join))

    (answered,) = UnitOfWork().get("audit", 10)
    assert answered.body == b"1"
    assert journal.depths()[audit.pk].done[Kind.PUT] == 1


@JOINED_OR_LEASED
@pytest.mark.spec("UOW-3")
def test_the_messages_of_a_batch_end_alike(orders: Queue, join: bool) -> None:
    put_many(make_messages(5))
    moody = Seen(lambda delivery: refuse(delivery) if delivery.body == b"2" else None)

    handled = handle_next(handler(moody, join=join, batch=3))

    assert (handled, moody.bodies) == (3, [b"1", b"2"])
    again = UnitOfWork().get("orders", 10)
    assert [(d.body, d.backout_count) for d in again] == [
        (b"1", 1), (b"2", 1), (b"3", 1), (b"4", 0), (b"5", 0)
    ]  # fmt: skip


def test_a_running_dispatcher_consumes_what_comes(orders: Queue) -> None:
    put_many(make_messages(3))
    seen = Seen()
    with running(handler(seen)):
        until(lambda: len(seen.deliveries) == 3)
        put("orders", b"4")
        until(lambda: len(seen.deliveries) == 4)
    assert seen.bodies == [b"1", b"2", b"3", b"4"]
    assert journal.depths()[orders.pk].total == 0
    assert fsck.violations() == []


def test_a_handler_may_run_in_several_threads_at_once(orders: Queue) -> None:
    put_many(make_messages(2))
    both = threading.Barrier(2, timeout=30)
    seen = Seen(lambda _: both.wait())
    with running(handler(seen, concurrency=2)):
        until(lambda: not journal.depths()[orders.pk].total)
    assert sorted(seen.bodies) == [b"1", b"2"]


def test_to_stop_is_to_finish_what_was_begun_and_no_more(orders: Queue) -> None:
    put_many(make_messages(3))
    begun, may_end = threading.Event(), threading.Event()

    def begin(_: Delivery) -> None:
        begun.set()
        assert may_end.wait(30)

    seen = Seen(begin)
    dispatcher = Dispatcher([handler(seen)])
    dispatcher.start()
    assert begun.wait(30)

    stopper = Background(dispatcher.stop)
    until(dispatcher.stopping.is_set)
    stopper.thread.join(0.2)
    assert stopper.thread.is_alive(), "it waits for the handler"
    may_end.set()
    stopper.join()

    assert seen.bodies == [b"1"]
    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.done[Kind.ACCEPT]) == (2, 1)
    assert not UnitOfWorkRow.objects.exists()


def test_an_idle_dispatcher_stops_at_once(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "POLL_S", 600.0)
    dispatcher = Dispatcher([handler(Seen())])
    dispatcher.start()
    until(lambda: notifications.here().changed._waiters)  # type: ignore[attr-defined]

    Background(dispatcher.stop).join()


def test_a_queue_may_be_made_after_its_handler_was_started() -> None:
    seen = Seen()
    with running(handler(seen)):
        make_queue("orders")
        put("orders", b"1")
        until(lambda: seen.bodies == [b"1"])


@JOINED_OR_LEASED
def test_the_loop_outlives_a_terminated_backend(
    orders: Queue, elsewhere: Elsewhere, join: bool
) -> None:
    put("orders", b"1")

    def cut_once(delivery: Delivery) -> None:
        if delivery.backout_count == 0:
            elsewhere(terminate, backend())

    seen = Seen(cut_once)
    with running(handler(seen, join=join)):
        until(lambda: not journal.depths()[orders.pk].total)

    assert [d.backout_count for d in seen.deliveries] == [0, 1]
    assert fsck.violations() == []


@JOINED_OR_LEASED
def test_the_loop_outlives_a_backend_that_is_terminated_while_it_waits(
    orders: Queue, join: bool
) -> None:
    put("orders", b"1")
    backends: list[int] = []
    seen = Seen(lambda _: backends.append(backend()))
    with running(handler(seen, join=join)):
        until(lambda: not journal.depths()[orders.pk].total)
        terminate(backends[0])
        put("orders", b"2")
        until(lambda: seen.bodies == [b"1", b"2"])
    assert backends[0] != backends[1]


def test_a_handler_whose_time_was_over_is_told_and_the_loop_goes_on(
    orders: Queue, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    put("orders")

    def too_slow(delivery: Delivery) -> None:
        if delivery.backout_count == 0:
            UnitOfWorkRow.objects.update(deadline="2000-01-01T00:00Z")
            elsewhere(sweep)

    seen = Seen(too_slow)
    while handle_next(handler(seen, join=False)):
        pass

    assert [d.backout_count for d in seen.deliveries] == [0, 1]
    assert "no longer holds its messages" in caplog.text
    assert journal.depths()[orders.pk].done[Kind.ACCEPT] == 1


def test_a_queue_has_one_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "HANDLERS", {})
    one = Seen()
    assert consumes("orders", batch=7, concurrency=2, join=False)(one) is one
    assert handlers.HANDLERS["orders", ""] == Handler(
        "orders", one, join=False, batch=7, concurrency=2
    )
    with pytest.raises(ImproperlyConfigured, match="orders has a handler already"):
        consumes("orders")(Seen())


def test_a_queue_has_one_handler_for_each_selector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handlers, "HANDLERS", {})
    consumes("orders", selector="kind = 'new'")(Seen())
    consumes("orders", selector="kind = 'old'", retain_unwanted=False)(Seen())
    assert [one.retain_unwanted for one in handlers.HANDLERS.values()] == [True, False]
    with pytest.raises(ImproperlyConfigured, match="orders has a handler for kind"):
        consumes("orders", selector="kind = 'old'")(Seen())
    with pytest.raises(InvalidSelector):
        consumes("orders", selector="kind =")(Seen())


def sweep() -> None:
    assert settle.back_out_overdue(limit=10) == 1


def backend() -> int:
    """The server's process behind this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def terminate(one: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [one])
        assert cursor.fetchone() == (True,)
