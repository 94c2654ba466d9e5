"""An exception may be anything: what raised it is backed out at once all the same.

Each test gives every odd exception to one way in, a message for each.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_django import Settings

from broker.client import Message, connect
from broker.client.dispatch.handlers import Handle, Handler
from broker.client.django_tasks import running
from broker.client.django_tasks.framework import task_finished
from broker.errors.bridges import TransformerFailed
from broker.errors.units_of_work import RedeliverIn, Reject
from broker.formats.exceptions import described
from broker.formats.stack_trace import stack_trace
from broker.models import DeadLetter, Delayed, Event, Kind
from broker.monitoring import fsck
from broker.monitoring.logs import JsonFormatter
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.settlement.outcomes import describe, failure
from broker.transactions.prepared import back_out_prepared, prepare
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.bridges.transforming import here, register
from tests.broker.client import sample_tasks as tasks
from tests.broker.elsewhere import Background
from tests.broker.handling import handle_next, handler
from tests.broker.odd_exceptions import MAKERS
from tests.console.until import until
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")
JOINED_OR_NOT = pytest.mark.parametrize("join", [True, False])


@pytest.fixture
def odd_messages(transactional_db: None) -> Iterator[dict[int, str]]:
    """A message for each exception; afterwards each is backed out, once, and the name
    of the exception's class is on record."""
    make_queue("orders")
    make_setting("orders", redelivery_delay_ms=600_000)
    names = {put("orders", one.encode()).message_id: one for one in MAKERS}
    yield names
    were_backed_out(names)


def were_backed_out(names: dict[int, str]) -> None:
    told = {
        one: event.detail or {}
        for event in Event.objects.filter(kind=Kind.BACK_OUT)
        for one in event.ids
    }
    for number, name in names.items():
        assert told[number]["error"].startswith(name), told[number]
    counts = dict(Delayed.objects.values_list("id", "backout_count"))
    assert counts == dict.fromkeys(names, 1)
    assert fsck.violations() == []


def raise_odd(delivery: Delivery, *_: object) -> None:
    raise MAKERS[delivery.body.decode()]()


def in_a_thread(call: Callable[[], object]) -> None:
    """As a dispatcher calls it, for each message: what ends a program ends nothing
    there, and nothing reaches the thread."""
    raised: list[str] = []

    def guarded() -> None:
        for _ in MAKERS:
            try:
                call()
            except BaseException as error:  # noqa: BLE001  # pytest itself would look at it
                raised.append(stack_trace(error))

    Background(guarded).join()
    assert raised == []


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_said_of_an_exception_can_be_stored(name: str) -> None:
    error = MAKERS[name]()
    asked = RedeliverIn(None)
    asked.__cause__ = error
    for one in (error, Reject(error), asked):
        outcome = failure(one)
        for text in (outcome.error, outcome.stack, outcome.exception):
            assert "\0" not in text
            assert len(text.encode()) < 20_000
    assert described(error).startswith(name)


@pytest.mark.parametrize("delay", [5, "soon", timedelta(-1), timedelta.max])
def test_a_delay_that_no_message_can_wait_is_refused_where_it_is_raised(
    delay: Any,
) -> None:
    with pytest.raises((TypeError, ValueError), match="RedeliverIn"):
        RedeliverIn(delay)


def test_what_is_called_need_not_be_a_function() -> None:
    class Called:
        def __call__(self, *_: object) -> None: ...

    assert handler(partial(raise_odd)).name == "functools.partial"
    assert handler(Called()).name.endswith("<locals>.Called")


@JOINED_OR_NOT
def test_a_handler_may_raise_anything(odd_messages: dict[int, str], join: bool) -> None:
    one = handler(raise_odd, join=join)
    in_a_thread(lambda: handle_next(one))


def odd_before(_: Handle) -> Handle:
    return raise_odd


def odd_after(call_next: Handle) -> Handle:
    def handle(delivery: Delivery, work: UnitOfWork) -> None:
        call_next(delivery, work)
        raise_odd(delivery)

    return handle


@JOINED_OR_NOT
@pytest.mark.parametrize("middleware", [odd_before, odd_after])
def test_a_middleware_may_raise_anything(
    odd_messages: dict[int, str],
    join: bool,
    middleware: Callable[[Handle], Handle],
    settings: Settings,
) -> None:
    settings.BROKER_HANDLER_MIDDLEWARE = [f"{__name__}.{middleware.__name__}"]
    one = handler(lambda *_: None, join=join)
    in_a_thread(lambda: handle_next(one))


@JOINED_OR_NOT
def test_the_spans_of_a_handler_have_anything_that_it_raises(
    odd_messages: dict[int, str], join: bool, spans: InMemorySpanExporter
) -> None:
    one = handler(raise_odd, join=join)
    in_a_thread(lambda: handle_next(one))

    raised = [
        dict(event.attributes or {})["exception.type"]
        for span in spans.get_finished_spans()
        for event in span.events
        if span.name == "process orders"
    ]
    for name, kind in zip(MAKERS, raised, strict=True):
        assert str(kind).endswith(name.partition(":")[0])


@JOINED_OR_NOT
def test_the_handler_of_a_message_with_a_trace_may_raise_anything(join: bool) -> None:
    make_queue("orders")
    make_setting("orders", redelivery_delay_ms=600_000)
    trace = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
    names = {
        put("orders", one.encode(), properties=trace).message_id: one for one in MAKERS
    }

    one = handler(raise_odd, join=join)
    in_a_thread(lambda: handle_next(one))

    were_backed_out(names)


def test_a_coordinated_unit_of_work_may_be_backed_out_by_anything(
    odd_messages: dict[int, str],
) -> None:
    for name in odd_messages.values():
        work = UnitOfWork(coordinated=True)
        work.get("orders")
        prepare(work, name)
        back_out_prepared(name, error=describe(MAKERS[name]()))


@JOINED_OR_NOT
def test_the_block_of_a_unit_of_work_may_raise_anything(
    odd_messages: dict[int, str], join: bool
) -> None:
    for _ in odd_messages:
        with suppress(BaseException), unit_of_work(join=join) as work:
            (delivery,) = work.get("orders")
            raise_odd(delivery)


def test_a_listener_may_raise_anything(odd_messages: dict[int, str]) -> None:
    heard: list[bytes] = []

    def listen(message: Message) -> None:
        heard.append(message.body)
        raise_odd(message.delivery)

    with connect() as connection:
        connection.session().consumer("orders").listen(listen)
        until(lambda: len(heard) == len(odd_messages))


@JOINED_OR_NOT
def test_a_task_of_django_may_raise_anything(join: bool, settings: Settings) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend, "OPTIONS": {"JOIN": join}}}
    make_setting("default", redelivery_delay_ms=600_000)
    names = {int(tasks.raise_odd.enqueue(one).id): one for one in MAKERS}
    one = Handler("default", running.run, join, batch=1, concurrency=1)

    in_a_thread(lambda: handle_next(one))

    were_backed_out(names)


@JOINED_OR_NOT
def test_a_task_that_says_when_it_is_redelivered_may_raise_anything(
    join: bool, settings: Settings
) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend, "OPTIONS": {"JOIN": join}}}
    names = {int(tasks.raise_odd_later.enqueue(one).id): one for one in MAKERS}
    one = Handler("default", running.run, join, batch=1, concurrency=1)

    in_a_thread(lambda: handle_next(one))

    were_backed_out(names)


@JOINED_OR_NOT
def test_a_task_that_is_never_run_again_may_raise_anything(
    join: bool, settings: Settings
) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend, "OPTIONS": {"JOIN": join}}}
    make_queue("DLQ")
    make_setting("default", dead_letter_address="DLQ")
    names = {int(tasks.raise_odd_once.enqueue(one).id): one for one in MAKERS}
    one = Handler("default", running.run, join, batch=1, concurrency=1)

    in_a_thread(lambda: handle_next(one))

    errors = dict(DeadLetter.objects.values_list("origin_id", "error"))
    for number, name in names.items():
        assert errors[number].startswith(name)


def test_a_task_that_is_rejected_is_so_whatever_hears_of_its_end(
    settings: Settings,
) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend}}
    make_queue("DLQ")
    make_setting("default", dead_letter_address="DLQ")
    tasks.raise_odd_once.enqueue("ValueError")

    def refuse_it(**_: object) -> None:
        raise OSError("the mail host is away")

    task_finished.connect(refuse_it)
    try:
        handle_next(handler(running.run, queue="default"))
    finally:
        task_finished.disconnect(refuse_it)

    assert DeadLetter.objects.get().error == "ValueError: one"


def test_a_transformer_may_raise_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(MAKERS)
    failures: list[str] = []

    def fail(*_: object) -> None:
        raise MAKERS[next(names)]()

    def transform() -> None:
        try:
            here("test-odd")
        except TransformerFailed as failed:
            failures.append(failed.why)

    register(monkeypatch, "test-odd", fail)
    in_a_thread(transform)

    for name, why in zip(MAKERS, failures, strict=True):
        assert why.startswith(name)


@pytest.mark.parametrize("name", MAKERS)
def test_a_line_of_the_log_may_have_any_exception(name: str) -> None:
    error = MAKERS[name]()
    about = (type(error), error, None)
    line = logging.LogRecord("x", logging.ERROR, "x.py", 1, "failed", (), about)
    assert json.loads(JsonFormatter().format(line))["event"] == "failed"
