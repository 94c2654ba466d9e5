"""Middleware around handlers: the order, their transaction, and their errors."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from broker.checks import handler_middleware_is_there
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.handlers import Handle
from broker.client.dispatch.server_session import ServerSession
from broker.models import Queue, Ready
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import Seen, handler
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

CALLS: list[str] = []


def outer(call_next: Handle) -> Handle:
    def handle(delivery: Delivery, work: UnitOfWork) -> None:
        CALLS.append(f"outer {connection.in_atomic_block}")
        call_next(delivery, work)
        CALLS.append("after")

    return handle


def inner(call_next: Handle) -> Handle:
    def handle(delivery: Delivery, work: UnitOfWork) -> None:
        CALLS.append("inner")
        if delivery.body == b"refuse":
            raise ValueError("refused by the middleware")
        if delivery.body != b"skip":
            call_next(delivery, work)

    return handle


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


@pytest.fixture(autouse=True)
def both(settings: Settings) -> None:
    CALLS.clear()
    settings.BROKER_HANDLER_MIDDLEWARE = [
        f"{__name__}.outer",
        f"{__name__}.inner",
    ]


def served(body: bytes, seen: Seen, *, join: bool = True) -> None:
    put("orders", body)
    ServerSession(ConnectionConsumer.open(handler(seen, join=join))).serve()


@pytest.mark.parametrize("join", [True, False])
@pytest.mark.usefixtures("orders")
def test_the_first_is_the_outermost_and_runs_where_the_handler_does(
    join: bool,
) -> None:
    seen = Seen()

    served(b"one", seen, join=join)

    assert [f"outer {join}", "inner", "after"] == CALLS
    assert seen.bodies == [b"one"]
    assert not Ready.objects.exists()


@pytest.mark.usefixtures("orders")
def test_its_exception_backs_the_message_out() -> None:
    seen = Seen()

    served(b"refuse", seen)

    assert not seen.deliveries
    assert Ready.objects.get().backout_count == 1


@pytest.mark.usefixtures("orders")
def test_a_message_that_it_does_not_pass_on_is_accepted() -> None:
    seen = Seen()

    served(b"skip", seen)

    assert not seen.deliveries
    assert not Ready.objects.exists()


def test_one_that_is_not_there_is_named(orders: Queue, settings: Settings) -> None:
    settings.BROKER_HANDLER_MIDDLEWARE = ["shop.middleware.timed"]

    with pytest.raises(ImproperlyConfigured, match=r"names shop\.middleware\.timed"):
        ConnectionConsumer.open(handler(Seen(), queue=orders.name))
    (error,) = handler_middleware_is_there()
    assert error.id == "broker.E007"
