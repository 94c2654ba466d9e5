"""The consumer loop of asynchronous code ends its units of work as its twin does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import Error as DatabaseError

from broker.client import (
    AsyncDeliveries,
    aconsumer,
    consumer,
    put,
    put_many,
)
from broker.client.asynchronous import threads
from broker.client.asynchronous.threads import STATEMENTS
from broker.errors import NoSuchQueue
from broker.errors.messages import InvalidSelector
from broker.errors.units_of_work import BackedOut
from broker.models import Claim, Event, Kind, Queue
from tests.broker.client.asynchronous import (
    apart,
    backend_of_statements,
    consume,
    got,
    terminate,
)
from tests.broker.consuming import Failed, accepted, backouts, drained, is_clean
from tests.make import make_messages, make_queue


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Iterator[Queue]:
    yield make_queue("orders")
    threads.close()


def test_a_step_accepts_the_last_message() -> None:
    put_many(make_messages(3))
    done: list[int] = []

    async def count(deliveries: AsyncDeliveries) -> None:
        async for _ in deliveries:
            done.append(len(await apart(accepted)))

    consume(count)
    assert done == [0, 1, 2]
    assert len(accepted()) == 3
    assert is_clean()


@pytest.mark.parametrize("batch", [1, 2])
def test_messages_come_by_priority_and_none_is_left(batch: int) -> None:
    for priority in (4, 9, 0):
        put("orders", str(priority).encode(), priority=priority)
    assert got(batch=batch) == [b"9", b"4", b"0"]
    assert is_clean()


def test_a_selector_leaves_the_others() -> None:
    for region in ("north", "south", "north"):
        put("orders", region.encode(), properties={"region": region})
    assert got(selector="region = 'north'") == [b"north"] * 2
    assert drained() == [b"south"]


def test_an_exception_backs_the_message_out_and_releases_the_rest_of_a_batch() -> None:
    put_many(make_messages(4))

    async def fail(deliveries: AsyncDeliveries) -> None:
        async for delivery in deliveries:
            if delivery.body == b"2":
                raise Failed("no such customer")

    with pytest.raises(Failed):
        consume(fail, batch=4)
    (event,) = Event.objects.filter(kind=Kind.BACK_OUT)
    assert event.detail is not None
    assert "Failed: no such customer" in event.detail["error"]
    assert backouts() == [1, 1, 0, 0]
    assert is_clean()


def test_who_leaves_accepts_what_was_given_and_may_go_on() -> None:
    put_many(make_messages(4))

    async def leave(deliveries: AsyncDeliveries) -> None:
        async for delivery in deliveries:
            assert delivery.body == b"1"
            break
        async for delivery in deliveries:
            assert delivery.body == b"2"
            return

    consume(leave, batch=3)
    assert len(accepted()) == 2
    assert is_clean()
    assert drained() == [b"3", b"4"]


def test_what_is_backed_out_in_the_loop_does_not_end_it() -> None:
    make_queue("answers")
    put_many(make_messages(2))
    found: list[tuple[bytes, int]] = []

    async def fail_once(deliveries: AsyncDeliveries) -> None:
        async for delivery in deliveries:
            found.append((delivery.body, delivery.backout_count))
            await deliveries.aput("answers", delivery.body)
            if found == [(b"1", 0)]:
                await deliveries.aback_out(Failed("once"))

    consume(fail_once)
    assert found == [(b"1", 0), (b"1", 1), (b"2", 0)]
    with consumer("answers", timeout_s=0) as answers:
        assert [one.body for one in answers] == [b"1", b"2"]


def test_without_its_block_the_loop_takes_nothing() -> None:
    put("orders")

    async def read() -> None:
        async for _ in aconsumer("orders"):
            raise AssertionError

    with pytest.raises(ValueError, match="async with aconsumer"):
        asyncio.run(read())
    with pytest.raises(TypeError, match="not iterable"):
        iter(aconsumer("orders"))  # type: ignore[call-overload]
    assert backouts() == [0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"queue": "odrers"}, NoSuchQueue),
        ({"queue": "orders", "selector": "region ="}, InvalidSelector),
        ({"queue": "orders", "batch": 0}, ValueError),
    ],
)
def test_what_the_twin_refuses(options: dict[str, Any], error: type[Exception]) -> None:
    async def begin() -> None:
        async with aconsumer(**options):
            raise AssertionError

    with pytest.raises(error):
        asyncio.run(begin())


def test_a_commit_that_fails_ends_the_loop_and_gets_nothing_more() -> None:
    put_many(make_messages(2))

    async def put_nowhere(deliveries: AsyncDeliveries) -> None:
        async for _ in deliveries:
            await deliveries.aput("nowhere")

    with pytest.raises(BackedOut):
        consume(put_nowhere)
    assert backouts() == [1, 0]
    assert is_clean()


def test_a_lost_connection_loses_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step fails, or the runtime tries it again on another connection."""
    monkeypatch.setattr(threads, "THREADS", 1)
    threads.close()
    put_many(make_messages(2))

    async def lose(deliveries: AsyncDeliveries) -> None:
        async for _ in deliveries:
            await apart(terminate, await backend_of_statements())

    with pytest.raises((DatabaseError, BackedOut)):
        consume(lose)
    assert not Claim.objects.exists()
    assert STATEMENTS.pool is not None
    assert got() == [b"1", b"2"]
    assert is_clean()
