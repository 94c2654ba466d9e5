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

from broker.client import Message, connect
from broker.client.dispatch.handlers import Handler
from broker.client.django_tasks import running
from broker.errors.bridges import TransformerFailed
from broker.errors.units_of_work import RedeliverIn, Reject
from broker.formats.exceptions import described
from broker.formats.stack_trace import stack_trace
from broker.models import Delayed, Event, Kind
from broker.monitoring import fsck
from broker.monitoring.logs import JsonFormatter
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.settlement.outcomes import failure
from broker.transactions.scope import unit_of_work
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
def test_a_task_of_django_may_raise_anything(join: bool, settings: Any) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend, "OPTIONS": {"JOIN": join}}}
    make_setting("default", redelivery_delay_ms=600_000)
    names = {int(tasks.raise_odd.enqueue(one).id): one for one in MAKERS}
    one = Handler("default", running.run, join, batch=1, concurrency=1)

    in_a_thread(lambda: handle_next(one))

    were_backed_out(names)


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
