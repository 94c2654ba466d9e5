"""A unit of work of asynchronous code ends as its twin does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator

import pytest

from broker.client import AsyncUnitOfWork, UnitOfWork, aunit_of_work, put_many
from broker.client.asynchronous import threads
from broker.errors.units_of_work import BackedOut
from broker.models import Event, Kind, Message, Queue, Ready
from tests.broker.client.asynchronous import WITHIN_S
from tests.broker.consuming import Failed, accepted, backouts, drained, is_clean
from tests.make import make_messages, make_queue, make_setting

Body = Callable[[AsyncUnitOfWork], Awaitable[object]]


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Iterator[Queue]:
    yield make_queue("orders")
    threads.close()


def run(body: Body) -> None:
    async def in_block() -> None:
        async with aunit_of_work(actor="ada") as work:
            await body(work)

    asyncio.run(asyncio.wait_for(in_block(), WITHIN_S))


@pytest.mark.parametrize(
    "name", [name for name in vars(AsyncUnitOfWork) if name.startswith("a")]
)
def test_a_method_has_the_first_options_of_its_twin(name: str) -> None:
    options, of_twin = (
        list(inspect.signature(method).parameters.items())
        for method in (
            getattr(AsyncUnitOfWork, name),
            getattr(UnitOfWork, name.removeprefix("a")),
        )
    )
    assert options == of_twin[: len(options)]


def test_gets_and_puts_take_effect_at_the_end() -> None:
    make_queue("answers")
    put_many(make_messages(3))

    async def answer(work: AsyncUnitOfWork) -> None:
        for delivery in await work.aget("orders", 2):
            await work.aput("answers", delivery.body)
        assert await work.aget("answers") == []

    run(answer)
    assert len(accepted()) == 2
    assert Message.objects.filter(address="answers").count() == 2
    assert {one.actor for one in Event.objects.filter(kind=Kind.ACCEPT)} == {"ada"}
    assert drained() == [b"3"]


def test_an_exception_backs_it_out() -> None:
    put_many(make_messages(2))

    async def fail(work: AsyncUnitOfWork) -> None:
        await work.aget("orders", 2)
        await work.aput("orders", b"never sent")
        raise Failed

    with pytest.raises(Failed):
        run(fail)
    assert backouts() == [1, 1]
    assert is_clean()


def test_a_cancellation_backs_it_out() -> None:
    put_many(make_messages(1))

    async def cancel() -> None:
        async def hold() -> None:
            async with aunit_of_work() as work:
                await work.aget("orders")
                holding.set()
                await asyncio.sleep(WITHIN_S)

        holding = asyncio.Event()
        task = asyncio.ensure_future(hold())
        await holding.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancel(), WITHIN_S))
    assert backouts() == [1]
    assert is_clean()


def test_deliveries_are_settled_one_by_one() -> None:
    make_queue("DLQ")
    make_setting(dead_letter_address="DLQ")
    put_many(make_messages(3))

    async def settle(work: AsyncUnitOfWork) -> None:
        first, second, third = await work.aget("orders", 3)
        await work.aaccept(first)
        await work.arelease(second)
        await work.areject(third, "no such customer")

    run(settle)
    assert len(accepted()) == 1
    assert sorted(Ready.objects.values_list("backout_count", flat=True)) == [0, 0]
    assert drained() == [b"2"]


def test_it_may_end_before_its_block() -> None:
    put_many(make_messages(2))

    async def commit(work: AsyncUnitOfWork) -> None:
        await work.aget("orders")
        await work.acommit()

    async def back_out(work: AsyncUnitOfWork) -> None:
        await work.aget("orders")
        await work.aback_out("no such customer")

    run(commit)
    run(back_out)
    assert len(accepted()) == 1
    assert backouts() == [1]
    assert is_clean()


def test_a_commit_that_is_refused_backs_it_out() -> None:
    put_many(make_messages(1))

    async def put_nowhere(work: AsyncUnitOfWork) -> None:
        await work.aget("orders")
        await work.aput("nowhere")

    with pytest.raises(BackedOut):
        run(put_nowhere)
    assert backouts() == [1]


def test_it_needs_its_block() -> None:
    with pytest.raises(ValueError, match="needs its block"):
        asyncio.run(aunit_of_work().aget("orders"))
