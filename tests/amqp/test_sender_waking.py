"""Those who wait for a queue: who is woken, in which order, and when nobody said so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio

from broker.amqp.senders.wakeups import Waking
from broker.models import Queue
from broker.queueing import notifications
from broker.queueing.notifications import Arrivals
from broker.queueing.put import put
from broker.sql import database_now
from broker.sql.threads import Pool
from tests.make import make_queue

LONG_S = 600.0  # nothing here waits that long, unless a wake-up was lost
QUEUE = 7


class Waiter:
    """Somebody who waits, and says whether it found something when it looked."""

    def __init__(self, queue_id: int = QUEUE, *, chooses: bool = False) -> None:
        self.queue_id = queue_id
        self.chooses = chooses
        self.woken = asyncio.Event()

    def look(self) -> None:
        self.woken.set()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Arrivals:
    """This process as if it had just begun, and there were no other."""
    mine = Arrivals()
    monkeypatch.setattr(notifications, "_arrivals", mine)
    monkeypatch.setattr(notifications, "POLL_S", LONG_S)
    monkeypatch.setattr(Arrivals, "run_in_background", lambda *_: None)
    return mine


@pytest_asyncio.fixture
async def waking(alone: Arrivals) -> AsyncIterator[Waking]:
    """Without a database: nobody comes who was not announced."""
    loop = asyncio.get_running_loop()
    waking = Waking(loop, lambda *_: loop.create_future())
    waking.start()
    yield waking
    waking.stop()


def lie_down(waking: Waking, *waiters: Waiter) -> None:
    for one in waiters:
        assert waking.sleep(one, notifications.version(one.queue_id))


async def settled() -> None:
    """Everything that is to run at once has run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_comes_between_the_look_and_the_sleep_is_not_lost(
    waking: Waking,
) -> None:
    seen = notifications.version(QUEUE)
    notifications.here().note([QUEUE])
    assert not waking.sleep(Waiter(), seen)


async def test_what_comes_from_another_thread_wakes_the_loop(waking: Waking) -> None:
    waiter = Waiter()
    lie_down(waking, waiter)

    await asyncio.to_thread(notifications.here().note, [QUEUE])

    await asyncio.wait_for(waiter.woken.wait(), LONG_S)


async def test_an_arrival_wakes_one_and_the_next_only_if_there_was_something(
    waking: Waking,
) -> None:
    first, second, third = waiters = Waiter(), Waiter(), Waiter()
    lie_down(waking, *waiters)

    notifications.here().note([QUEUE])
    await settled()
    assert [one.woken.is_set() for one in waiters] == [True, False, False]

    version = notifications.version(QUEUE)
    waking.looked(first, version, found=True)
    await settled()
    assert [one.woken.is_set() for one in waiters] == [True, True, False]

    waking.looked(second, version, found=False)
    await settled()
    assert not third.woken.is_set()


async def test_everybody_has_a_turn(waking: Waking) -> None:
    waiters = [Waiter() for _ in range(4)]
    lie_down(waking, *waiters)
    order = []
    for _ in range(8):
        notifications.here().note([QUEUE])
        version, found = notifications.version(QUEUE), True
        for _ in range(2):  # the first finds what came, and the second nothing
            await settled()
            (one,) = [waiter for waiter in waiters if waiter.woken.is_set()]
            one.woken.clear()
            order += [waiters.index(one)] if found else []
            waking.looked(one, version, found=found)
            assert waking.sleep(one, version)
            found = False

    assert order == [0, 1, 2, 3] * 2


async def test_what_comes_while_one_looks_wakes_the_next_all_the_same(
    waking: Waking,
) -> None:
    first, second = Waiter(), Waiter()
    lie_down(waking, first, second)
    notifications.here().note([QUEUE])
    await settled()
    before = notifications.version(QUEUE)

    notifications.here().note([QUEUE])
    await settled()
    waking.looked(first, before, found=False)
    await settled()

    assert second.woken.is_set()


async def test_all_who_choose_look_one_after_the_other(waking: Waking) -> None:
    waiters = [Waiter(chooses=True) for _ in range(3)]
    lie_down(waking, *waiters)
    notifications.here().note([QUEUE])

    for one in waiters:
        await settled()
        assert one.woken.is_set()
        waking.looked(one, notifications.version(QUEUE), found=False)


async def test_one_who_leaves_instead_of_looking_wakes_the_next(
    waking: Waking,
) -> None:
    first, second = Waiter(), Waiter()
    lie_down(waking, first, second)
    notifications.here().note([QUEUE])
    await settled()

    waking.leave(first)
    await settled()

    assert second.woken.is_set()


async def test_nobody_is_remembered_who_has_left(waking: Waking) -> None:
    waiter = Waiter()
    lie_down(waking, waiter)
    waking.leave(waiter)
    assert not waking.lines


async def test_nobody_is_woken_once_it_has_stopped(waking: Waking) -> None:
    waiter = Waiter()
    lie_down(waking, waiter)
    waking.stop()
    notifications.here().note([QUEUE])
    await settled()
    assert not waiter.woken.is_set()


class TestWithoutHints:
    """Nothing is announced here, as when Redis is gone."""

    @pytest_asyncio.fixture
    async def looking(
        self,
        transactional_db: None,
        alone: Arrivals,
        monkeypatch: pytest.MonkeyPatch,
    ) -> AsyncIterator[Waking]:
        monkeypatch.setattr(notifications, "POLL_S", 0.05)
        monkeypatch.setattr(notifications, "announce", lambda _: None)
        loop = asyncio.get_running_loop()
        pool = Pool("database", threads=1)
        waking = Waking(loop, pool.run)
        waking.start()
        yield waking
        waking.stop()
        await loop.run_in_executor(None, pool.close)

    async def test_what_lies_there_is_found_within_a_second(
        self, looking: Waking
    ) -> None:
        queue: Queue = await looking.database(make_queue)
        waiter = Waiter(queue.pk)
        lie_down(looking, waiter)

        await looking.database(put, "orders", b"x")

        await asyncio.wait_for(waiter.woken.wait(), LONG_S)

    async def test_what_falls_due_is_found_when_it_does(
        self, looking: Waking, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(notifications, "POLL_S", LONG_S)
        queue: Queue = await looking.database(make_queue)
        due_at = await looking.database(database_now) + timedelta(seconds=0.3)
        await looking.database(put, "orders", b"x", deliver_at=due_at)
        waiter = Waiter(queue.pk)
        lie_down(looking, waiter)

        await asyncio.wait_for(waiter.woken.wait(), LONG_S)

        assert await looking.database(database_now) >= due_at

    async def test_a_queue_that_is_gone_is_looked_at_too(self, looking: Waking) -> None:
        waiter = Waiter(2**31 - 1)
        lie_down(looking, waiter)
        await asyncio.wait_for(waiter.woken.wait(), LONG_S)
