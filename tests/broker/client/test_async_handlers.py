"""Handlers that are coroutine functions: tasks of one event loop, each message with the
unit of work, the attempts and the outcome that it has with a thread."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction

from broker.errors.units_of_work import Reject
from broker.models import Address, Claim, ConnectionConsumer, Delayed, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck, logs
from broker.queueing import journal
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.broker.async_handling import Noted, drained
from tests.broker.elsewhere import Background
from tests.broker.handling import handler, running
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


@pytest.mark.parametrize("within_ms", [0, 2])
def test_hundreds_run_at_once_in_one_thread_and_each_has_its_own_outcome(
    settings: Any, statements: list[str], within_ms: int
) -> None:
    settings.BROKER_SETTLE_WITHIN_MS = within_ms
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="graves")
    make_queue("graves")
    put_many(make_messages(200, "orders"))
    ids = list(Ready.objects.values_list("id", flat=True))
    wrong, rejected = set(ids[::40]), set(ids[7::40])

    async def handle(delivery: Delivery, _: UnitOfWork) -> None:
        if not delivery.backout_count:
            await all_run(seen)
        if delivery.message_id in wrong:
            raise ValueError("no such customer")
        if delivery.message_id in rejected:
            raise Reject("it is not ours")

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=200)) as dispatcher:
        assert len(dispatcher.threads) == 1
        until(drained)

    assert seen.most == 200
    assert seen.threads == {"event loop"}
    assert len({one.uow for one in seen.deliveries}) == len(seen.deliveries)
    times = Counter(one.message_id for one in seen.deliveries)
    assert times == {one: 3 if one in wrong else 1 for one in ids}
    graves = Ready.objects.filter(queue_id=Queue.objects.get(name="graves").pk)
    assert graves.count() == len(wrong) + len(rejected)
    assert fsck.violations() == []
    assert len([one for one in statements if one.startswith("accept")]) < 100


async def all_run(seen: Noted) -> None:
    """Wait until 200 run at once."""
    while seen.most < 200:
        await asyncio.sleep(0.01)


@pytest.mark.spec("UOW-2")
def test_what_it_raises_is_with_the_message() -> None:
    make_setting("orders", redelivery_delay_ms=3_600_000)
    message_id = put("orders").message_id

    async def handle(*_: object) -> None:
        raise ValueError("no such customer")

    one = handler(Noted(handle), join=False)
    with running(one):
        until(Delayed.objects.exists)

    last = journal.lifeline(message_id)[-1]
    assert last.actor == one.name
    assert last.detail["error"] == "ValueError: no such customer"
    assert "handle\n" in last.detail["stack"]
    assert "async_session" not in last.detail["stack"]


def test_a_task_that_goes_on_gets_the_next_message_by_its_accept(
    statements: list[str],
) -> None:
    put_many(make_messages(100, "orders"))

    async def handle(*_: object) -> None:
        await asyncio.sleep(0)

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=10)):
        until(drained)

    assert len(seen.deliveries) == 100
    assert seen.most <= 10
    assert "accept, get_each" in statements
    assert fsck.violations() == []


def test_no_more_is_held_than_runs() -> None:
    put_many(make_messages(20, "orders"))
    goes_on = threading.Event()

    async def handle(*_: object) -> None:
        while not goes_on.is_set():
            await asyncio.sleep(0.01)

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=5)):
        until(lambda: seen.at_once == 5)
        assert Claim.objects.count() == 5
        assert Ready.objects.count() == 15
        (row,) = ConnectionConsumer.objects.all()
        assert row.server_sessions == 5
        goes_on.set()
        until(drained)


def test_a_stop_waits_for_what_runs_and_begins_nothing_more() -> None:
    put_many(make_messages(30, "orders"))
    goes_on = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def handle(*_: object) -> None:
        loops[:] = [asyncio.get_running_loop()]
        await goes_on.wait()

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=10)) as dispatcher:
        until(lambda: seen.at_once == 10)
        stop = Background(dispatcher.stop)
        until(dispatcher.stopping.is_set)
        stop.thread.join(0.2)
        assert stop.thread.is_alive(), "it waits for what runs"
        loops[0].call_soon_threadsafe(goes_on.set)
        stop.join()

    assert len(seen.deliveries) == 10
    assert not Claim.objects.exists()
    assert [one.backout_count for one in Ready.objects.all()] == [0] * 20
    assert fsck.violations() == []


@pytest.mark.spec("UOW-7")
def test_one_that_takes_too_long_is_refused() -> None:
    make_setting("orders", redelivery_delay_ms=3_600_000)
    put("orders")
    goes_on = threading.Event()

    async def handle(*_: object) -> None:
        while not goes_on.is_set():
            await asyncio.sleep(0.01)

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=5)):
        until(lambda: seen.at_once == 1)
        UnitOfWorkRow.objects.update(deadline="2026-01-01T00:00Z")
        settle.back_out_overdue(limit=9)
        goes_on.set()
        until(lambda: seen.at_once == 0)

    assert Delayed.objects.get().backout_count == 1
    assert fsck.violations() == []


def test_what_a_handler_puts_is_sent_if_it_returns() -> None:
    make_queue("answers")
    put_many(make_messages(20, "orders"))

    async def handle(delivery: Delivery, work: UnitOfWork) -> None:
        await asyncio.sleep(0)
        work.put("answers", delivery.body)
        if delivery.backout_count == 0:
            raise ValueError("not yet")

    with running(handler(Noted(handle), join=False, concurrency=10)):
        until(drained)

    assert Ready.objects.count() == 20
    assert fsck.violations() == []


def test_a_handler_calls_what_uses_the_database_in_threads() -> None:
    make_queue("parts")
    put("orders")
    put("parts", b"first")
    put("parts", b"second")
    bodies: list[bytes] = []

    @transaction.atomic
    def write() -> None:
        Address.objects.create(name="written")

    async def handle(_: Delivery, work: UnitOfWork) -> None:
        for _number in range(2):
            (part,) = await sync_to_async(work.get)("parts")
            bodies.append(part.body)
        await sync_to_async(work.accept)(part)
        await sync_to_async(write)()
        assert await Address.objects.filter(name="written").aexists()
        await sync_to_async(work.put)("parts", b"third")

    with running(handler(Noted(handle), join=False, concurrency=2)):
        until(drained)

    assert bodies == [b"first", b"second"]
    assert Ready.objects.count() == 1
    assert Address.objects.filter(name="written").exists()
    assert fsck.violations() == []


def test_no_more_run_than_a_limit_allows() -> None:
    put_many(make_messages(60, "orders"))

    async def handle(*_: object) -> None:
        await asyncio.sleep(0.03)

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=10, max_running=2)):
        until(drained, 25)  # two in each second would take thirty

    assert len(seen.deliveries) == 60
    assert seen.most <= 2


def test_log_lines_have_the_ids_of_their_own_message() -> None:
    put_many(make_messages(10, "orders"))
    found: dict[int, object] = {}

    async def handle(delivery: Delivery, _: UnitOfWork) -> None:
        await asyncio.sleep(0.01)
        found[delivery.message_id] = logs.ids()["message_id"]
        assert logs.ids()["queue"] == "orders"

    with running(handler(Noted(handle), join=False, concurrency=10)):
        until(drained)

    assert len(found) == 10
    assert all(key == value for key, value in found.items())


def test_an_exception_that_ends_programs_ends_only_its_message() -> None:
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLQ")
    make_queue("DLQ")
    put_many(make_messages(4, "orders"))
    kinds = [SystemExit, KeyboardInterrupt, asyncio.CancelledError]

    async def exits() -> None:
        raise SystemExit

    async def handle(delivery: Delivery, _: UnitOfWork) -> None:
        if kinds:
            raise kinds.pop()
        await asyncio.gather(asyncio.create_task(exits()), return_exceptions=True)

    with running(handler(Noted(handle), join=False, concurrency=1)):
        until(drained)

    assert Ready.objects.count() == 3
    assert fsck.violations() == []
