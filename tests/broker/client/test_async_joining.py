"""Asynchronous code within a transaction of Django's, and outside of one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, async_to_sync, sync_to_async
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import AsyncClient, Client, TestCase, override_settings
from django.urls import path

from broker.client import aconsumer, aput, aput_many, aunit_of_work
from broker.client.asynchronous import joining, threads
from broker.client.asynchronous.joining import in_transaction
from broker.client.asynchronous.puts import PUTS
from broker.client.testing import assert_put, put_messages
from broker.models import Address, Message
from broker.sql import open_transactions
from broker.transactions.session import has_transaction
from tests.broker.client.asynchronous import apart
from tests.make import make_messages, make_queue


async def order(request: HttpRequest) -> HttpResponse:
    """A view as users write them: rows of Django's, and a message."""
    await Address.objects.acreate(name="pears")
    receipt = await aput("orders", request.body)
    return JsonResponse({"message": receipt.message_id})


urlpatterns = [path("order/", order)]


def rolled_back(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A synchronous middleware with a transaction around asynchronous views."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = get_response(request)
            transaction.set_rollback(True)
        return response

    return middleware


IN_A_TRANSACTION = f"{__name__}.rolled_back"
POST: dict[str, Any] = {"data": b"pears", "content_type": "text/plain"}
HERE: dict[str, Any] = {"ROOT_URLCONF": __name__, "MIDDLEWARE": []}


@override_settings(**HERE)
class InTestCase(TestCase):
    """Django rolls back what each of these tests has put."""

    @classmethod
    def setUpTestData(cls) -> None:
        make_queue("orders")

    def setUp(self) -> None:
        threads.close()
        assert put_messages() == []

    def tearDown(self) -> None:
        assert PUTS.pool is None  # nobody has committed

    async def test_a_view_puts_in_the_transaction_of_the_test(self) -> None:
        response = await self.async_client.post("/order/", **POST)
        assert response.status_code == 200
        await sync_to_async(assert_put)("orders", count=1, body=b"pears")

    async def test_and_the_next_test_does_not_see_it(self) -> None:
        await self.test_a_view_puts_in_the_transaction_of_the_test()

    def test_a_synchronous_client_does_so_too(self) -> None:
        assert self.client.post("/order/", **POST).status_code == 200
        assert_put("orders", count=1, body=b"pears")

    async def test_many_are_put_and_consumed_in_it(self) -> None:
        await asyncio.gather(*(aput("orders", b"%d" % n) for n in range(20)))
        await aput_many(make_messages(2))
        async with aconsumer("orders", timeout_s=0) as deliveries:
            bodies = [delivery.body async for delivery in deliveries]
            await deliveries.aput("orders", b"last")
        assert len(bodies) == 22
        async with aconsumer("orders", timeout_s=0) as deliveries:
            assert [one.body async for one in deliveries] == [b"last"]
        assert threads.STATEMENTS.pool is None

    async def test_a_unit_of_work_is_part_of_it(self) -> None:
        await aput("orders", b"pears")
        async with aunit_of_work() as work:
            (delivery,) = await work.aget("orders")
            await work.aput("orders", delivery.body * 2)
        bodies = [one.body for one in await sync_to_async(put_messages)()]
        assert bodies == [b"pears", b"pearspears"]
        assert threads.STATEMENTS.pool is None

    async def test_a_loop_that_waits_lets_others_put(self) -> None:
        async def get_one() -> bytes:
            async with aconsumer("orders") as deliveries:
                async for delivery in deliveries:
                    return delivery.body
            raise AssertionError

        waiting = asyncio.ensure_future(get_one())
        await asyncio.sleep(0.05)
        await aput("orders", b"pears")
        assert await asyncio.wait_for(waiting, 60) == b"pears"


@pytest.fixture
def committing(transactional_db: None) -> Iterator[None]:
    make_queue("orders")
    with override_settings(**HERE):
        yield
    threads.close()
    Address.objects.filter(name="pears").delete()


@pytest.mark.usefixtures("committing")
def test_a_view_outside_of_a_transaction_commits() -> None:
    async def post() -> int:
        async with ThreadSensitiveContext():  # as Django has it around a request
            response = await AsyncClient().post("/order/", **POST)
            await sync_to_async(connections.close_all)()
        return int(response.json()["message"])

    assert asyncio.run(post()) == Message.objects.get().pk
    assert PUTS.pool is not None


@pytest.mark.usefixtures("committing")
@override_settings(MIDDLEWARE=[IN_A_TRANSACTION])
def test_what_a_middleware_rolls_back_is_not_put() -> None:
    assert Client().post("/order/", **POST).json()["message"]
    assert not Message.objects.exists()
    assert not Address.objects.filter(name="pears").exists()


@pytest.mark.usefixtures("committing")
def test_a_transaction_that_asynchronous_code_has_opened_is_joined() -> None:
    """As by a well-known recipe, whose rows are rolled back by hand."""

    async def put_twice() -> tuple[bool, bool]:
        async with ThreadSensitiveContext():
            before = await in_transaction()
            atomic = transaction.atomic()
            await sync_to_async(atomic.__enter__)()
            await aput("orders", b"never sent")
            during = await in_transaction()
            await sync_to_async(transaction.set_rollback)(rollback=True)
            await sync_to_async(atomic.__exit__)(None, None, None)
            await aput("orders", b"sent")
            await sync_to_async(connections.close_all)()
        return before, during

    assert asyncio.run(put_twice()) == (False, True)
    assert [bytes(one.body) for one in Message.objects.all()] == [b"sent"]


@pytest.mark.usefixtures("committing")
def test_nobody_is_asked_unless_there_is_a_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[None] = []

    def noted() -> bool:
        asked.append(None)
        return has_transaction()

    monkeypatch.setattr(joining, "has_transaction", noted)
    asyncio.run(aput("orders", b"alone"))
    assert asked == []
    with transaction.atomic():
        other = threading.Thread(target=lambda: asyncio.run(aput("orders", b"beside")))
        other.start()
        other.join(60)
        assert asked == [None]
        async_to_sync(aput)("orders", b"joined")
        transaction.set_rollback(True)
    assert asked == [None, None]
    assert [bytes(one.body) for one in Message.objects.order_by("pk")] == [
        b"alone",
        b"beside",
    ]


@pytest.mark.usefixtures("committing")
def test_transactions_of_the_broker_s_own_threads_do_not_count() -> None:
    def look() -> bool:
        with transaction.atomic():
            return open_transactions.are_there_any()

    async def look_twice() -> tuple[bool, bool]:
        mine = await threads.STATEMENTS.use(lambda pool: pool.run(look))
        return mine, await apart(look)

    assert asyncio.run(look_twice()) == (False, True)


@pytest.mark.usefixtures("committing")
def test_a_task_that_outlives_its_request_puts() -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def request() -> None:
        tasks.append(asyncio.create_task(later()))

    async def later() -> None:
        await asyncio.sleep(0.05)
        await aput("orders", b"later")

    async def serve() -> None:
        async with ThreadSensitiveContext():
            await request()
        await tasks[0]

    asyncio.run(serve())
    assert [bytes(one.body) for one in Message.objects.all()] == [b"later"]
