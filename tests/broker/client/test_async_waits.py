"""The consumer loop of asynchronous code waits, is stopped, and is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from threading import Event as Flag

import pytest

from broker.client import (
    AsyncDeliveries,
    Deliveries,
    aconsumer,
    aput,
    consumer,
    put_many,
)
from broker.client.asynchronous import threads
from broker.models import Claim, Event, Kind, Queue
from tests.broker.client.asynchronous import WITHIN_S, consume, got
from tests.broker.consuming import accepted, backouts, drained, is_clean
from tests.make import make_messages, make_queue


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Iterator[Queue]:
    yield make_queue("orders")
    threads.close()


def test_a_cancelled_body_backs_out_as_an_interrupted_twin_does() -> None:
    put_many(make_messages(3))

    def interrupt() -> None:
        with consumer("orders", batch=3) as deliveries:
            for _ in deliveries:
                raise KeyboardInterrupt

    async def cancel() -> None:
        async def hold() -> None:
            async with aconsumer("orders", batch=3) as deliveries:
                async for _ in deliveries:
                    holding.set()
                    await asyncio.sleep(WITHIN_S)

        holding = asyncio.Event()
        task = asyncio.ensure_future(hold())
        await holding.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert backouts() == [1, 0, 0]
    asyncio.run(asyncio.wait_for(cancel(), WITHIN_S))
    assert backouts() == [2, 0, 0]
    first, second = Event.objects.filter(kind=Kind.BACK_OUT).order_by("seq")
    assert "KeyboardInterrupt" in str(first.detail)
    assert "CancelledError" in str(second.detail)
    assert is_clean()


def test_a_step_that_is_cancelled_releases_what_it_gets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "THREADS", 1)  # its end comes after it
    put_many(make_messages(2))
    begun, opened, go_on = threading.Event(), threading.Event(), Deliveries.go_on

    def slow(self: Deliveries, *, stops: bool) -> bool:
        if self.work.held:  # the second step
            begun.set()
            assert opened.wait(WITHIN_S)
        return go_on(self, stops=stops)

    monkeypatch.setattr(Deliveries, "go_on", slow)

    async def cancel() -> None:
        async def read() -> None:
            async with aconsumer("orders") as deliveries:
                async for _ in deliveries:
                    pass

        task = asyncio.ensure_future(read())
        assert await asyncio.to_thread(begun.wait, WITHIN_S)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # also its end is cancelled, which is carried out all the same
        opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancel(), WITHIN_S))
    threads.close()  # what has begun is carried out
    assert len(accepted()) == 1
    assert backouts() == [0]
    assert is_clean()


def test_a_loop_that_waits_holds_no_thread_and_hears_of_puts() -> None:
    """More loops wait than there are threads; each gets a message."""
    loops = 3 * threads.THREADS

    async def get_one() -> bytes:
        async with aconsumer("orders") as deliveries:
            async for delivery in deliveries:
                return delivery.body
        raise AssertionError

    async def feed() -> list[bytes]:
        tasks = [asyncio.ensure_future(get_one()) for _ in range(loops)]
        await asyncio.sleep(0.2)  # most of them wait; if not, they get theirs at once
        await asyncio.gather(*(aput("orders", b"%d" % n) for n in range(loops)))
        return await asyncio.gather(*tasks)

    bodies = asyncio.run(asyncio.wait_for(feed(), WITHIN_S))
    assert sorted(bodies) == sorted(b"%d" % n for n in range(loops))
    assert is_clean()


def test_a_time_out_ends_the_loop_which_may_be_begun_again() -> None:
    async def read_twice(deliveries: AsyncDeliveries) -> None:
        assert [one.body async for one in deliveries] == []
        await aput("orders", b"2")
        assert [one.body async for one in deliveries] == [b"2"]
        await deliveries.aput("orders", b"at the end")

    consume(read_twice, timeout_s=0.05)
    assert drained() == [b"at the end"]


def test_a_wait_that_is_cancelled_ends_at_once_and_holds_nothing() -> None:
    async def cancel() -> None:
        task = asyncio.ensure_future(read())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def read() -> None:
        async with aconsumer("orders") as deliveries:
            async for _ in deliveries:
                raise AssertionError

    asyncio.run(asyncio.wait_for(cancel(), WITHIN_S))
    assert not Claim.objects.exists()


def test_a_stop_accepts_the_last_message_and_gets_no_more() -> None:
    put_many(make_messages(2))
    stopping, asked_in = Flag(), set[threading.Thread]()

    def stop() -> bool:
        asked_in.add(threading.current_thread())
        return stopping.is_set()

    async def read_one(deliveries: AsyncDeliveries) -> None:
        async for _ in deliveries:
            stopping.set()

    consume(read_one, stop=stop)
    assert len(accepted()) == 1
    assert is_clean()
    assert drained() == [b"2"]
    assert asked_in == {threading.main_thread()}


def test_a_stop_ends_a_wait() -> None:
    stopping, calls = Flag(), list[bool]()

    def stop() -> bool:
        calls.append(stopping.is_set())
        if len(calls) == 3:
            stopping.set()
        return stopping.is_set()

    assert got(stop=stop, timeout_s=None) == []
    assert len(calls) == 3
