"""What tasks of an asynchronous handler do with messages that cannot be delivered, and
with the traces of those that can."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from broker.client.dispatch import stoppages
from broker.formats.trace_context import trace_id
from broker.models import Claim, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.async_handling import Noted, drained, nothing
from tests.broker.handling import broken, handler, running
from tests.broker.putting_away import got, poisonous
from tests.console.until import until
from tests.make import make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
TRACEPARENT = "00-{:032x}-00f067aa0ba902b7-01"


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


@pytest.mark.usefixtures("orders")
def test_undeliverable_messages_are_disposed_of() -> None:
    make_queue(DEAD_LETTERS)
    broken()
    put("orders", b"good")

    seen = Noted(nothing)
    with running(handler(seen, join=False, concurrency=10)):
        until(drained)

    assert [one.body for one in seen.deliveries] == [b"good"]
    assert Ready.objects.count() == 1
    assert fsck.violations() == []


@pytest.mark.usefixtures("orders")
def test_one_that_can_be_put_nowhere_stops_its_queue_until_it_is_started() -> None:
    message_id = broken()
    seen = Noted(nothing)
    with running(handler(seen, join=False, concurrency=10)):
        until(Queue.objects.filter(stopped=True).exists)
        until(lambda: not Claim.objects.exists())
        put("orders", b"good")
        make_queue(DEAD_LETTERS)
        stoppages.clear("orders")
        until(drained)

    assert [one.body for one in seen.deliveries] == [b"good"]
    assert journal.lifeline(message_id)
    assert fsck.violations() == []


@pytest.mark.usefixtures("orders")
def test_a_selector_and_unwanted_messages() -> None:
    make_queue(DEAD_LETTERS)
    put("orders", b"wanted", properties={"kind": "a"})
    put("orders", b"unwanted", properties={"kind": "b"})

    seen = Noted(nothing)
    one = handler(
        seen, join=False, concurrency=5, selector="kind = 'a'", retain_unwanted=False
    )
    with running(one):
        until(drained)

    assert [one.body for one in seen.deliveries] == [b"wanted"]
    assert fsck.violations() == []


@pytest.mark.spec("ASF-3")
def test_poison_is_put_away_and_what_is_new_is_handled() -> None:
    make_queue(DEAD_LETTERS)
    make_queue("orders", backout_threshold=2)
    poisonous(backouts=2)
    put("orders", b"good")
    seen = Noted(nothing)
    with running(handler(seen, join=False, concurrency=10)):
        until(drained)

    assert [one.body for one in seen.deliveries] == [b"good"]
    assert [one.body for one in got(DEAD_LETTERS)] == [b"poison"]
    assert fsck.violations() == []


@pytest.mark.spec("POISON-12")
def test_who_may_not_read_the_attributes_gets_nothing_and_nothing_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue("orders", backout_threshold=1)
    make_user("omar", granted=("get",))
    poisonous()
    seen = Noted(nothing)
    one = handler(seen, join=False, concurrency=10, user="omar")
    with caplog.at_level(logging.WARNING), running(one):
        until(lambda: "orders waits: " in caplog.text)

    assert not seen.deliveries
    assert Ready.objects.get().backout_count == 1
    assert not UnitOfWorkRow.objects.exists()


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("has_sdk", [False, True])
def test_what_a_handler_puts_has_the_trace_of_its_own_message(
    request: pytest.FixtureRequest, *, has_sdk: bool
) -> None:
    exporter: InMemorySpanExporter | None = None
    if has_sdk:
        exporter = request.getfixturevalue("spans")
    make_queue("bills")
    given = {number: TRACEPARENT.format(number) for number in range(1, 21)}
    put_many(
        [
            NewMessage("orders", str(number).encode(), properties={"traceparent": one})
            for number, one in given.items()
        ]
    )

    async def handle(delivery: Delivery, work: UnitOfWork) -> None:
        await asyncio.sleep(0.01)
        work.put("bills", delivery.body)

    with running(handler(Noted(handle), join=False, concurrency=20)):
        until(drained)

    bills: dict[int, Any] = {int(one.body): one.properties for one in got("bills")}
    assert {number: trace_id(one) for number, one in bills.items()} == {
        number: f"{number:032x}" for number in given
    }
    if exporter is not None:
        names = [one.name for one in exporter.get_finished_spans()]
        assert names.count("process orders") == 20
        assert names.count("accept orders") == 20
