"""Work that breaks its own database session: its message is backed out at once, on
another one, and the next message finds nothing of it.

Each test gives every way to break a session to one way in, a message for each.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from broker.client import Message, connect
from broker.client.dispatch.handlers import Handler
from broker.client.django_tasks import running
from broker.errors import BrokerError
from broker.errors.bridges import TransformerFailed
from broker.models import Address, Claim, Delayed, Event, Kind
from broker.monitoring import fsck
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions import session
from broker.transactions.scope import unit_of_work
from tests.broker.breaking import BROKEN, SET
from tests.broker.bridges.transforming import here, register
from tests.broker.client import sample_tasks as tasks
from tests.broker.elsewhere import Background
from tests.broker.handling import handle_next, handler
from tests.broker.handling import running as dispatching
from tests.console.until import until
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")
JOINED_OR_NOT = pytest.mark.parametrize("join", [True, False])
RAISES_OR_RETURNS = pytest.mark.parametrize("then", ["raise", "return"])
WAYS = BROKEN | SET


class Broke(Exception):
    """What work raises that has broken its session."""


def put_all(queue: str = "orders") -> dict[int, str]:
    make_queue(queue)
    make_setting(queue, redelivery_delay_ms=600_000)
    return {put(queue, one.encode()).message_id: one for one in WAYS}


def break_session(delivery: Delivery, *_: object) -> None:
    WAYS[delivery.body.decode()]()


def break_and_raise(delivery: Delivery, *_: object) -> None:
    break_session(delivery)
    raise Broke


def each(names: dict[int, str], call: Callable[[], object]) -> None:
    """As a dispatcher calls it, for each message, in one thread. What work that was
    accepted has set is the fault of nobody: the loop begins another session."""

    def calls() -> None:
        for _ in range(3 * len(names)):  # more than one fails where the machine is slow
            try:
                call()
            except DatabaseError:
                session.drop()

    Background(calls).join()


def were_ended(names: dict[int, str], *, backed_out: bool) -> None:
    """Nothing is claimed; all were backed out, or those that could not be accepted; and
    what was backed out has written nothing."""
    assert not Claim.objects.exists()
    back = set(Delayed.objects.values_list("id", flat=True))
    assert set(Delayed.objects.values_list("backout_count", flat=True)) <= {1}
    if backed_out:
        assert back == set(names)
    accepted = [n for e in Event.objects.filter(kind=Kind.ACCEPT) for n in e.ids]
    assert {*back, *accepted} == set(names)
    written = Address.objects.filter(name__in=WAYS).values_list("name", flat=True)
    assert set(written) <= {names[one] for one in accepted}
    assert fsck.violations() == []


def settings() -> list[tuple[str, str]]:
    """Those of this session that are not as it began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE source = 'session'")
        return list(cursor.fetchall())


@JOINED_OR_NOT
@RAISES_OR_RETURNS
def test_a_handler_that_breaks_its_session(then: str, join: bool) -> None:
    names = put_all()
    handle = break_and_raise if then == "raise" else break_session
    one = handler(handle, join=join)
    each(names, lambda: handle_next(one))
    were_ended(names, backed_out=then == "raise")


@pytest.mark.thorough
@JOINED_OR_NOT
def test_the_loop_goes_on_with_another_session(join: bool) -> None:
    make_queue("orders")
    make_setting("orders", redelivery_delay_ms=600_000)
    for name in WAYS:
        put("orders", name.encode())
        put("orders", b"whole")
    seen: list[Any] = []

    def handle(delivery: Delivery, *_: object) -> None:
        if delivery.body == b"whole":
            seen.append(settings())
        else:
            break_and_raise(delivery)

    with dispatching(handler(handle, join=join)):
        until(lambda: len(seen) == len(WAYS))
    assert all(one == seen[0] for one in seen)
    assert set(Delayed.objects.values_list("backout_count", flat=True)) == {1}


@RAISES_OR_RETURNS
def test_a_block_that_breaks_its_session(then: str) -> None:
    names = put_all()

    def block() -> None:
        with suppress(Broke, BrokerError), unit_of_work() as work:
            for delivery in work.get("orders"):
                (break_and_raise if then == "raise" else break_session)(delivery)

    each(names, block)
    were_ended(names, backed_out=then == "raise")


@pytest.mark.thorough
@RAISES_OR_RETURNS
def test_a_listener_that_breaks_its_session(then: str) -> None:
    names = put_all()
    heard: list[int] = []

    def listen(message: Message) -> None:
        heard.append(message.delivery.message_id)
        (break_and_raise if then == "raise" else break_session)(message.delivery)

    with connect() as connection:
        connection.session().consumer("orders").listen(listen)
        until(lambda: len(heard) == len(names))
    were_ended(names, backed_out=then == "raise")


@pytest.mark.thorough
@JOINED_OR_NOT
@RAISES_OR_RETURNS
def test_a_task_of_django_that_breaks_its_session(
    then: str, join: bool, settings: Any
) -> None:
    backend = "broker.client.django_tasks.BackoutBackend"
    settings.TASKS = {"default": {"BACKEND": backend, "OPTIONS": {"JOIN": join}}}
    make_setting("default", redelivery_delay_ms=600_000)
    raises = then == "raise"
    names = {
        int(tasks.break_session.enqueue(one, raises=raises).id): one for one in WAYS
    }
    one = Handler("default", running.run, join, batch=1, concurrency=1)
    each(names, lambda: handle_next(one))
    were_ended(names, backed_out=raises)


def test_a_transformer_that_breaks_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(WAYS)
    seen: list[Any] = []

    def fail(*_: object) -> None:
        WAYS[next(names)]()
        raise Broke

    def transform() -> None:
        for _ in WAYS:
            with pytest.raises(TransformerFailed):
                here("test-broken")
            assert connection.get_autocommit()
            seen.append(settings())

    register(monkeypatch, "test-broken", fail)
    Background(transform).join()
    assert all(one == seen[0] for one in seen)


def test_the_transaction_of_the_caller_is_left_alone() -> None:
    """Only he can end it."""
    make_queue("orders")
    put("orders")
    with transaction.atomic():
        Address.objects.create(name="of the caller")
        with pytest.raises(Broke), unit_of_work() as work:
            work.get("orders")
            raise Broke
    assert Address.objects.filter(name="of the caller").exists()
    with pytest.raises(DatabaseError), transaction.atomic(), unit_of_work() as work:
        work.get("orders")
        SET["default_transaction_read_only"]()
        connection.cursor().execute("SELECT 1 / 0")
