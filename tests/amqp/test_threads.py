"""Threads for the database: group commit, order, and what its errors do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection

from broker.amqp.batches import Batches
from broker.sql import threads
from broker.sql.threads import DatabaseAway, Pool, is_certain, is_in_doubt

WITHIN_S = 30


@asynccontextmanager
async def batches(
    run: Callable[[list[Any]], Sequence[Any]], **options: Any
) -> AsyncIterator[Batches[Any, Any]]:
    made: Batches[Any, Any] = Batches(
        asyncio.get_running_loop(),
        "test",
        run,
        **{"most_items": 100, "most_bytes": 1000} | options,
    )
    yield made
    await asyncio.wait_for(made.drain(), WITHIN_S)
    made.close()


class Told(list[Any]):
    """What became of items, in the order in which it was told."""

    def note(self, ended: list[tuple[Any, Any]]) -> None:
        self += [result for _, result in ended]


class Gate:
    """Runs batches one by one, each when it is let through."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.begun = threading.Semaphore(0)
        self.opened = threading.Semaphore(0)

    def run(self, items: list[Any]) -> list[Any]:
        self.batches.append(items)
        self.begun.release()
        assert self.opened.acquire(timeout=WITHIN_S)
        return items

    async def begins(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=WITHIN_S)


@pytest.mark.usefixtures("transactional_db")
async def test_who_comes_while_a_batch_runs_travels_with_the_next() -> None:
    gate, told = Gate(), Told()
    async with batches(gate.run) as made:
        made.add([1], told.note)
        await gate.begins()
        made.add([2], told.note)
        made.add([3], told.note, size=10)
        assert (made.waiting_items, made.waiting_bytes) == (3, 10)
        gate.opened.release(2)

    assert gate.batches == [[1], [2, 3]]
    assert told == [1, 2, 3]
    assert (made.waiting_items, made.waiting_bytes) == (0, 0)


@pytest.mark.usefixtures("transactional_db")
async def test_a_batch_is_neither_too_many_nor_too_large() -> None:
    gate = Gate()
    gate.opened.release(9)
    async with batches(gate.run, most_items=3, most_bytes=100) as made:
        for number, size in enumerate([10, 10, 10, 10, 60, 60, 500, 1]):
            made.add([number], lambda _: None, size=size)

    assert gate.batches == [[0, 1, 2], [3, 4], [5], [6], [7]]


@pytest.mark.usefixtures("transactional_db")
async def test_an_error_is_what_became_of_each() -> None:
    told = Told()

    def run(_: list[int]) -> list[int]:
        raise KeyError("no")

    async with batches(run) as made:
        made.add([1], told.note)
        made.add([2], told.note)

    assert [type(one) for one in told] == [KeyError, KeyError]


@pytest.mark.usefixtures("transactional_db")
async def test_while_the_database_is_away_items_wait_in_their_order() -> None:
    told = Told()
    attempts: list[list[int]] = []
    was_away: list[bool] = []

    def run(items: list[int]) -> list[Any]:
        attempts.append(items)
        was_away.append(made.away)
        if len(attempts) == 1:
            return [items[0], *[DatabaseAway()] * (len(items) - 1)]
        return items

    async with batches(run, most_items=3) as made:
        for number in range(5):
            made.add([number], told.note)

    assert attempts == [[0, 1, 2], [1, 2, 3], [4]]
    assert told == [0, 1, 2, 3, 4]
    assert was_away == [False, True, False]


@pytest.mark.usefixtures("transactional_db")
async def test_items_that_were_added_together_are_told_together() -> None:
    told: list[Any] = []
    attempts: list[list[int]] = []

    def run(items: list[int]) -> list[Any]:
        attempts.append(items)
        if len(attempts) == 1:
            return [1, DatabaseAway(), 3, 4]
        return items

    async with batches(run) as made:
        made.add([1, 2, 3], told.append, size=30)
        made.add([4], told.append, size=4)

    assert attempts == [[1, 2, 3, 4], [2]]
    assert told == [[(1, 1), (3, 3)], [(4, 4)], [(2, 2)]]
    assert (made.waiting_items, made.waiting_bytes) == (0, 0)


@pytest.mark.usefixtures("transactional_db")
async def test_after_a_while_nobody_waits_any_more() -> None:
    told = Told()

    async with batches(lambda items: [DatabaseAway()] * len(items), patience_s=0) as it:
        it.add([1], told.note)

    assert isinstance(told[0], DatabaseAway)


@pytest.mark.usefixtures("transactional_db")
async def test_what_is_in_doubt_is_told_or_done_again() -> None:
    attempts: list[int] = []

    def run(items: list[int]) -> list[Any]:
        attempts.append(1)
        return items if len(attempts) % 2 == 0 else [OperationalError("gone")]

    told = Told()
    async with batches(run) as made:
        made.add([1], told.note)
        await made.drain()
        assert isinstance(told.pop(), OperationalError)
        assert len(attempts) == 1
        attempts.clear()
    async with batches(run, patience_s=None) as made:
        made.add([1], told.note)

    assert told == [1]


@pytest.mark.usefixtures("transactional_db")
async def test_who_cannot_be_told_keeps_nobody_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told()

    def fail(_: object) -> None:
        raise KeyError("nobody home")

    async with batches(lambda items: items) as made:
        made.add([1], fail)
        made.add([2], told.note)
        await made.drain()
        made.add([3], told.note)

    assert told == [2, 3]
    assert "could not be told" in caplog.text


def pid() -> int:
    return int(connection.connection.info.backend_pid)


def terminate(backend: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])


def divide() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@pytest.mark.usefixtures("transactional_db")
async def test_each_thread_has_a_connection_and_keeps_it() -> None:
    pool = Pool("test", threads=1)
    other = Pool("test", threads=1)

    first, again, elsewhere = (
        await pool.run(pid),
        await pool.run(pid),
        await other.run(pid),
    )
    pool.close()
    other.close()

    assert first == again != elsewhere


@pytest.mark.usefixtures("transactional_db")
async def test_an_error_of_the_database_closes_the_connection() -> None:
    pool = Pool("test", threads=1)

    first = await pool.run(pid)
    with pytest.raises(DatabaseError) as error:
        await pool.run(divide)
    after = await pool.run(pid)
    pool.close()

    assert first != after
    assert not is_certain(error.value)
    assert not is_in_doubt(error.value)


@pytest.mark.usefixtures("transactional_db")
async def test_a_connection_that_broke_while_it_was_idle_is_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.0)
    pool, other = Pool("test", threads=1), Pool("test", threads=1)

    first = await pool.run(pid)
    await other.run(terminate, first)
    after = await pool.run(pid)
    pool.close()
    other.close()

    assert first != after


@pytest.mark.usefixtures("transactional_db")
async def test_a_connection_that_the_server_ends_says_that_nothing_was_done() -> None:
    pool, other = Pool("test", threads=1), Pool("test", threads=1)

    def sleep() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")

    first = await pool.run(pid)
    asleep = pool.run(sleep)
    await other.run(terminate, first)
    with pytest.raises(DatabaseAway):
        await asleep
    pool.close()
    other.close()
