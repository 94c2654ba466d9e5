"""Asynchronous handlers: what can be registered, middleware around them, and tests of
users that run them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils.decorators import async_only_middleware, sync_and_async_middleware

from broker.client.dispatch import handlers
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.handlers import consumes, is_async
from broker.client.testing import run_ready
from broker.models import Address, Queue, Ready
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker.async_handling import Noted, drained, nothing
from tests.broker.handling import Seen, handle_next, handler, running
from tests.console.until import until
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


def test_an_asynchronous_handler_runs_in_a_test_s_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handlers, "HANDLERS", {})
    make_queue("orders.done")
    put("orders", b"1")

    async def handle(_: Delivery, work: UnitOfWork) -> None:
        await Address.objects.acreate(name="written")
        work.put("orders.done", b"2")

    consumes("orders", join=False)(handle)
    with transaction.atomic():
        assert [one.error for one in run_ready("orders")] == [None]
        assert Address.objects.filter(name="written").exists()
        transaction.set_rollback(True)
    assert not Address.objects.filter(name="written").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"Give join=False"),
        ({"join": False, "batch": 2}, r"Leave out batch"),
    ],
)
def test_options_that_a_coroutine_cannot_have_are_refused(
    options: dict[str, Any], words: str
) -> None:
    async def handle(delivery: Delivery, work: UnitOfWork) -> None: ...

    with pytest.raises(ImproperlyConfigured, match=words) as refused:
        consumes("nowhere", **options)(handle)

    assert f"{__name__}." in str(refused.value)
    assert ("nowhere", "") not in handlers.HANDLERS


CALLS: list[str] = []


@sync_and_async_middleware
def timed(call_next: Any) -> Any:
    def handle(delivery: Delivery, work: UnitOfWork) -> None:
        CALLS.append("of a thread")
        call_next(delivery, work)

    async def handle_in_loop(delivery: Delivery, work: UnitOfWork) -> None:
        CALLS.append("of a loop")
        await call_next(delivery, work)

    return handle_in_loop if is_async(call_next) else handle


@async_only_middleware
def of_loops(call_next: Any) -> Any:
    return call_next


def of_threads(call_next: Any) -> Any:
    return call_next


def test_middleware_of_both_kinds_is_around_both(settings: Any) -> None:
    CALLS.clear()
    settings.BROKER_HANDLER_MIDDLEWARE = [f"{__name__}.timed"]
    for handle in (Noted(nothing), Seen()):
        put("orders")
        with running(handler(handle, join=False, concurrency=2)):
            until(drained)

    assert CALLS == ["of a loop", "of a thread"]
    assert not Ready.objects.exists()


@pytest.mark.parametrize(
    ("name", "handle", "words"),
    [
        ("of_threads", Noted(nothing), "of_threads .* is a def, and cannot wrap"),
        ("of_loops", Seen(), "of_loops .* is an async def, and cannot wrap"),
    ],
)
def test_middleware_of_the_other_kind_is_refused(
    settings: Any, name: str, handle: Any, words: str
) -> None:
    settings.BROKER_HANDLER_MIDDLEWARE = [f"{__name__}.{name}"]

    with pytest.raises(ImproperlyConfigured, match=words):
        ConnectionConsumer.open(handler(handle, join=False))


def test_the_dispatcher_does_not_start_with_it(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "HANDLERS", {})
    consumes("orders", join=False)(nothing)
    settings.BROKER_HANDLER_MIDDLEWARE = [f"{__name__}.of_threads"]

    with pytest.raises(CommandError, match=r"of_threads .* cannot wrap"):
        call_command("broker_dispatch", processes=1)


def test_a_coroutine_that_nobody_would_await_is_an_error() -> None:
    put("orders")

    def decorated(delivery: Delivery, work: UnitOfWork) -> Any:
        return nothing(delivery, work)

    assert handle_next(handler(decorated, join=False)) == 1

    assert Ready.objects.get().backout_count == 1
