"""What projects have for their tests, at its edges; a user's project has the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery

from broker.client.dispatch.handlers import HANDLERS, consumes
from broker.client.testing import (
    assert_no_dead_letters,
    assert_not_put,
    assert_put,
    dead_letters,
    eager,
    put_messages,
    run_ready,
)
from broker.errors import NoSuchQueue
from broker.errors.units_of_work import Reject
from broker.models import Queue
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue, make_setting

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    """The handlers of a test are gone after it."""
    before = dict(HANDLERS)
    yield
    HANDLERS.clear()
    HANDLERS.update(before)


@pytest.fixture
def circle(orders: Queue) -> None:
    """A handler that puts to its own queue."""

    @consumes("orders", rate="1/d", max_running=1)
    def again(delivery: Delivery, work: UnitOfWork) -> None:
        work.put("orders", b"again")


def test_handlers_that_put_in_a_circle_are_named_as_such(circle: None) -> None:
    put("orders")
    with pytest.raises(AssertionError, match="More than 5 deliveries: handlers put to"):
        run_ready("orders", most=5)


def test_a_queue_without_a_handler_is_refused() -> None:
    with pytest.raises(NoSuchQueue, match="nowhere"):
        run_ready("nowhere")


def test_a_message_that_is_rejected_is_dead_and_its_error_is_raised(
    orders: Queue,
) -> None:
    make_queue("DLQ")
    make_setting("orders", dead_letter_address="DLQ")

    @consumes("orders", join=False)
    def reject(delivery: Delivery, work: UnitOfWork) -> None:
        raise Reject("There is no customer 17.")

    with pytest.raises(Reject, match="no customer 17"), eager("orders"):
        put("orders")

    assert [one.error for one in dead_letters()] == ["There is no customer 17."]
    assert dead_letters("DLQ") == []


def test_a_message_without_a_dead_letter_address_died_too(
    orders: Queue,
) -> None:
    make_setting("orders", max_delivery_attempts=1)

    @consumes("orders")
    def fail(delivery: Delivery, work: UnitOfWork) -> None:
        raise ValueError("There is no customer 17.")

    put("orders")
    assert_no_dead_letters()
    run_ready("orders", raises=False)

    with pytest.raises(AssertionError, match=r"Messages died: .*orders: "):
        assert_no_dead_letters()


def test_messages_are_seen_as_they_were_put(orders: Queue) -> None:
    sent = NewMessage(
        "orders",
        b"{}",
        content_type="application/json",
        properties={"tenant": "a", "n": 1},
        correlation_id="17",
        deliver_at=NOON.replace(year=2999),
    )
    put(**{name: getattr(sent, name) for name in sent.__dataclass_fields__})

    assert put_messages() == [sent]
    assert assert_put("orders", json={}, properties={"tenant": "a"}) == [sent]
    assert_not_put("orders", properties={"tenant": "b"})
    with pytest.raises(AssertionError, match="Expected 2 to orders"):
        assert_put("orders", count=2)
    with pytest.raises(TypeError, match="no field sujbect"):
        assert_put("orders", sujbect="typo")


def test_what_celery_sends_is_seen_unless_it_is_eager() -> None:
    app = Celery("shop", broker="backout://", set_as_current=False)

    @app.task(name="book")
    def book(number: int) -> int:
        return number

    book.delay(7)
    assert len(put_messages("celery")) == 1

    app.conf.task_always_eager = True
    assert book.delay(8).get() == 8
    assert len(put_messages("celery")) == 1
