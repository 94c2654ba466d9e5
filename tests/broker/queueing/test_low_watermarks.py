"""The scan floor: gets skip what is gone, and never what is still to come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.models import Queue
from broker.queueing import low_watermarks
from broker.queueing.low_watermarks import FLOORS, Putters
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True, params=[60.0, 0.0], ids=["", "stuck"])
def eager(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Every get samples first, and none is the one in a minute without floors."""
    monkeypatch.setattr(low_watermarks, "SAMPLE_S", 0.0)
    monkeypatch.setattr(low_watermarks, "STUCK_S", request.param)
    FLOORS.forget()
    yield
    FLOORS.forget()


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


def consume(limit: int = 10) -> list[bytes]:
    with unit_of_work() as work:
        return [delivery.body for delivery in work.get("orders", limit)]


def floor_of(priority: int) -> int:
    return FLOORS.of("orders")[9 - priority]


def test_the_floor_follows_what_was_consumed(orders: Queue) -> None:
    receipts = put_many(make_messages(30))
    until(lambda: is_settled(receipts[-1].message_id))
    for _ in range(3):
        consume()

    assert floor_of(4) == receipts[20].message_id


def is_settled(message_id: int) -> bool:
    """Whatever else writes in this cluster holds it up, as housekeeping does."""
    FLOORS.sample_if_due()
    return FLOORS.settled >= message_id


def test_a_message_whose_sender_commits_late_is_not_skipped(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    elsewhere.begin()
    elsewhere(put, "orders", b"late")
    put_many(make_messages(30))
    for _ in range(4):
        consume()
    assert floor_of(4) < elsewhere(put, "orders", b"later").message_id - 30

    elsewhere.commit()

    assert consume() == [b"late", b"later"]


@contextmanager
def old_transaction(database: str) -> Iterator[None]:
    """Somebody has written something, in this database or another one, and idles."""
    parameters = connection.get_connection_params() | {"dbname": database}
    with psycopg.connect(**{**parameters, "cursor_factory": psycopg.Cursor}) as idle:
        idle.execute("SELECT pg_current_xact_id()")
        yield


@pytest.mark.parametrize("elsewhere_is", ["here", "postgres"])
def test_an_old_transaction_that_has_put_nothing_holds_no_floor_up(
    orders: Queue, monkeypatch: pytest.MonkeyPatch, elsewhere_is: str
) -> None:
    monkeypatch.setattr(low_watermarks, "STUCK_S", 0.0)
    here = connection.settings_dict["NAME"]
    with old_transaction(here if elsewhere_is == "here" else elsewhere_is):
        receipts = put_many(make_messages(30))
        until(lambda: is_settled(receipts[-1].message_id))
        for _ in range(3):
            consume()
        assert floor_of(4) == receipts[20].message_id


def test_what_came_back_is_found_below_every_floor(orders: Queue) -> None:
    put_many(make_messages(30))
    work = UnitOfWork()
    work.get("orders", 2)
    for _ in range(4):
        consume()
    work.back_out("again")

    assert consume() == [b"1", b"2"]


def test_whoever_was_prepared_may_have_put() -> None:
    """A prepared transaction is listed under another name than before."""
    before = Putters(7, {"3/1"}, any_prepared=False)
    assert before.have_ended(Putters(9, {"4/1"}, any_prepared=False))
    assert not before.have_ended(Putters(9, {"3/1", "4/1"}, any_prepared=False))
    assert not before.have_ended(Putters(9, {"-1/812"}, any_prepared=True))


def test_a_paused_queue_teaches_nothing(orders: Queue) -> None:
    put("orders", b"0")
    consume()
    Queue.objects.update(paused=True)
    put("orders", b"1")
    for _ in range(3):
        assert consume() == []
    Queue.objects.update(paused=False)

    assert consume() == [b"1"]


def test_a_get_that_was_undone_is_found_by_the_look_without_floors(
    orders: Queue, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_many(make_messages(3))
    elsewhere.begin()
    elsewhere(UnitOfWork().get, "orders")
    assert consume(1) == [b"2"]
    assert consume(1) == [b"3"]
    elsewhere.roll_back()

    monkeypatch.setattr(low_watermarks, "SAFETY_S", 0.0)
    FLOORS.safe_until.clear()
    assert consume() == [b"1"]


STEPS = st.lists(
    st.sampled_from(["begin", "put", "commit", "roll back", "put here", "consume"]),
    min_size=5,
    max_size=40,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_however_senders_and_gets_interleave_nothing_committed_is_missed(
    orders: Queue, elsewhere: Elsewhere, steps: list[str]
) -> None:
    waiting: list[int] = []
    open_puts: list[int] = []
    for step in [*steps, "commit", "consume"]:
        match step:
            case "begin" if elsewhere.transaction is None:
                elsewhere.begin()
            case "put" if elsewhere.transaction is not None:
                open_puts.append(elsewhere(put, "orders").message_id)
            case "commit" if elsewhere.transaction is not None:
                elsewhere.commit()
                waiting += open_puts
                open_puts = []
            case "roll back" if elsewhere.transaction is not None:
                elsewhere.roll_back()
                open_puts = []
            case "put here":
                waiting.append(put("orders").message_id)
            case "consume":
                with unit_of_work() as work:
                    got = [d.message_id for d in work.get("orders", 100)]
                assert got == sorted(waiting)
                waiting = []
