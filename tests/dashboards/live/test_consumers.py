"""Sockets: who may listen, what they get, and that they notice when it is over."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.utils import timezone
from redis import Redis

from broker.models import Queue
from broker.queueing.put import put
from broker.security import authorities
from console.models import BrowserSession
from dashboards.live import consumers, depths, publisher, rates
from tests.console.second_factors.factors import give_app, give_password
from tests.dashboards.live.sockets import page_of
from tests.make import make_queue, make_user

CLOSED = {"type": "websocket.close", "code": consumers.FORBIDDEN}

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def _threads_keep_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """One would be left of each socket's thread, and hold the test database."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


async def publish(html: str) -> None:
    await sync_to_async(publisher.send)(html)


@pytest.mark.usefixtures("redis")
async def test_a_page_gets_the_sums_and_then_what_is_published(
    vera: User, orders: Queue
) -> None:
    async with page_of(vera) as page:
        assert (await page.opens())["type"] == "websocket.accept"
        first = await page.html()
        assert 'data-slot="ready"' in first
        assert f"q{orders.pk}-ready" not in first

        await publish("<data>news</data>")

        assert await page.html() == "<data>news</data>"


@pytest.mark.usefixtures("redis", "orders")
async def test_an_open_page_has_the_numbers_published_every_second(vera: User) -> None:
    await sync_to_async(publisher.publish)()
    assert not publisher.is_due()

    async with page_of(vera) as page:
        await page.opens()

        assert publisher.is_due()


@pytest.mark.usefixtures("redis")
async def test_a_page_gets_the_numbers_of_the_queues_that_it_shows(
    vera: User, orders: Queue
) -> None:
    other = await sync_to_async(make_queue)("other")
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        await page.says(f"{orders.pk},12345678")
        answer = await page.html()
        parts = {str(orders.pk): "<data>1</data>", str(other.pk): "<data>2</data>"}
        await sync_to_async(publisher.send)("<data>sums</data>", parts)

        assert f"q{orders.pk}-ready" in answer
        assert f"q{other.pk}-ready" not in answer
        assert await page.html() == "<data>1</data><data>sums</data>"


@pytest.mark.thorough
@pytest.mark.usefixtures("redis")
async def test_a_page_is_told_no_more_often_than_its_user_wants(
    vera: User, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rates.SECONDS, "30 s", 1.0)
    async with page_of(vera, cookies='; refresh="30 s"') as page:
        await page.opens()
        await page.html()
        await page.says(f"{orders.pk}")
        assert f'data-slot="q{orders.pk}-ready" value="0"' in await page.html()

        await sync_to_async(put)("orders", b"{}")
        await publish("<data>one</data>")
        told = await page.html()
        assert f'data-slot="q{orders.pk}-ready" value="1"' in told
        assert "<data>one" not in told, "the present numbers, not what came between"

        await publish("<data>two</data>")
        await publish("<data>three</data>")
        assert f'data-slot="q{orders.pk}-ready"' in await page.html()
        assert await page.wire.receive_nothing(timeout=1.5), "once for both"


@pytest.mark.usefixtures("redis")
async def test_who_may_inquire_some_queues_gets_the_numbers_of_those(
    orders: Queue,
) -> None:
    pay = await sync_to_async(make_queue)("pay")
    noor = await sync_to_async(make_user)(
        "noor",
        permissions=("broker.view_queue",),
        granted=("inquire",),
        pattern="orders",
    )
    async with page_of(noor) as page:
        await page.opens()
        await page.html()
        await page.says(f"{orders.pk},{pay.pk}")
        first = await page.html()

        await sync_to_async(put)("orders", b"1")
        await sync_to_async(put)("pay", b"1")
        await sync_to_async(publisher.publish)()
        then = await page.html()

    for html, ready in ((first, 0), (then, 1)):
        assert f'data-slot="q{orders.pk}-ready" value="{ready}"' in html
        assert f'data-slot="ready" value="{ready}"' in html
        assert f"q{pay.pk}-ready" not in html


@pytest.mark.usefixtures("redis")
async def test_what_is_published_costs_nobody_a_query(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even those who may inquire some queues only; the badge is counted anew
    now and then, once for all."""
    make = sync_to_async(make_user)
    noor = await make(
        "noor",
        permissions=("broker.view_queue",),
        granted=("inquire",),
        pattern="orders",
    )
    async with page_of(noor) as page:
        await page.opens()
        await page.html()
        await page.says(str(orders.pk))
        await page.html()
        await sync_to_async(put)("orders", b"1")

        def refuse(*_: object) -> None:
            raise AssertionError("a query")

        await sync_to_async(publisher.publish)()
        await page.html()
        monkeypatch.setattr(depths, "queues", refuse)
        monkeypatch.setattr(authorities, "held_by", refuse)
        await sync_to_async(publisher.send)("news", {str(orders.pk): ""})

        assert f'data-slot="q{orders.pk}-ready" value="1"' in await page.html()


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("said", ["let me", "", "1,", "-1", "1;2", "9" * 30])
async def test_what_a_page_says_is_ignored_unless_it_names_queues(
    vera: User, orders: Queue, said: str
) -> None:
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        await page.says(said)

        assert await page.wire.receive_nothing()


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("is_known", [True, False])
async def test_who_may_not_look_is_told_so_by_the_code(is_known: bool) -> None:
    nobody = await sync_to_async(make_user)("nobody") if is_known else None

    async with page_of(nobody) as page:
        assert (await page.opens())["type"] == "websocket.accept"
        assert await page.next() == CLOSED


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize(
    "origin", [b"https://evil.example", b"http://localhost:8001", b"null", b""]
)
async def test_other_sites_and_other_ports_cannot_listen(
    vera: User, origin: bytes
) -> None:
    async with page_of(vera, origin=origin) as page:
        assert (await page.opens())["type"] == "websocket.close"


def sign_out(user: User) -> None:
    BrowserSession.objects.all().delete()


def take_away(user: User) -> None:
    user.user_permissions.clear()


def deactivate(user: User) -> None:
    user.is_active = False
    user.save()


def run_out(user: User) -> None:
    idle = timedelta(seconds=settings.BACKOUT_SESSION_IDLE_S)
    BrowserSession.objects.update(seen_at=timezone.now() - idle)


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("ending", [sign_out, take_away, deactivate, run_out])
async def test_who_may_no_longer_look_gets_nothing_more(
    vera: User,
    orders: Queue,
    ending: Callable[[User], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 0)
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        await sync_to_async(ending)(vera)
        await publish("secret")

        assert await page.next() == CLOSED


@pytest.mark.usefixtures("redis")
async def test_who_lacks_a_second_factor_hears_nothing(
    vera: User, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 0)
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        monkeypatch.setattr(settings, "BACKOUT_SECOND_FACTOR_GROUPS", ["*"])
        await publish("secret")

        assert await page.next() == CLOSED
    async with page_of(vera) as page:
        await page.opens()
        assert await page.next() == CLOSED


@pytest.mark.usefixtures("redis")
async def test_half_a_sign_in_hears_nothing(vera: User, orders: Queue) -> None:
    await sync_to_async(give_app)(vera)
    client = Client()
    await sync_to_async(give_password)(client, vera)

    async with page_of(client) as page:
        await page.opens()
        assert await page.next() == CLOSED


@pytest.mark.usefixtures("redis")
async def test_who_is_shut_out_hears_of_it_though_nothing_is_published(
    vera: User, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert consumers.LOOK_AGAIN_S < 5
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 0.05)
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        await sync_to_async(deactivate)(vera)

        assert await page.next() == CLOSED


async def test_without_redis_the_browser_is_told_to_try_again(vera: User) -> None:
    async with page_of(vera) as page:
        answer = await page.opens()

    assert answer == {"type": "websocket.close", "code": consumers.TRY_AGAIN_LATER}


@contextmanager
def frozen(server: Redis) -> Iterator[None]:
    """A Redis that takes what it is sent, and answers nothing."""
    pid = server.info("server")["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_page_hears_that_redis_does_not_answer(
    vera: User, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 0.05)
    monkeypatch.setattr(consumers, "ANSWERS_S", 0.2)
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        with frozen(redis):
            answer = await page.next()
            await page.leaves()

    assert answer == {"type": "websocket.close", "code": consumers.TRY_AGAIN_LATER}


async def test_while_redis_does_not_answer_pages_are_told_to_try_again(
    vera: User, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "ANSWERS_S", 0.2)
    with frozen(redis):
        async with page_of(vera) as page:
            answer = await page.opens()

    assert answer == {"type": "websocket.close", "code": consumers.TRY_AGAIN_LATER}
