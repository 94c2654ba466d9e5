"""Sockets: who may listen, what they get, and that they notice when it is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client

from broker.models import Queue
from console.asgi import application
from dashboards import consumers, depths
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


@pytest.fixture
def orders() -> Queue:
    return make_queue("orders")


class Page:
    """The browser's end of one socket."""

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        scope = {
            "type": "websocket",
            "path": "/ws/depths/",
            "query_string": b"",
            "headers": headers,
            "subprotocols": [],
        }
        self.wire: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def opens(self) -> dict[str, Any]:
        """What the server answers first."""
        await self.wire.send_input({"type": "websocket.connect"})
        return await self.next()

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.wire.receive_output(timeout=5)
        return message

    async def html(self) -> str:
        message = await self.next()
        assert message["type"] == "websocket.send"
        return str(message["text"])

    async def leaves(self) -> None:
        if not self.wire.future.done():
            await self.wire.send_input({"type": "websocket.disconnect", "code": 1000})
            await self.wire.wait()


@asynccontextmanager
async def page_of(
    user: User | None, origin: bytes = b"http://localhost"
) -> AsyncIterator[Page]:
    headers = [(b"host", b"localhost"), (b"origin", origin)]
    if user:
        client = Client()
        await sync_to_async(client.force_login)(user)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        headers.append((b"cookie", f"{cookie.key}={cookie.value}".encode()))
    page = Page(headers)
    try:
        yield page
    finally:
        await page.leaves()


async def publish(html: str) -> None:
    layer = get_channel_layer()
    await layer.group_send(depths.GROUP, {"type": "depths.changed", "html": html})


@pytest.mark.usefixtures("redis")
async def test_a_page_gets_all_numbers_and_then_what_is_published(
    vera: User, orders: Queue
) -> None:
    async with page_of(vera) as page:
        assert (await page.opens())["type"] == "websocket.accept"
        assert f"q{orders.pk}-ready" in await page.html()

        await publish("<data>news</data>")

        assert await page.html() == "<data>news</data>"


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
        first = await page.html()

        await publish(f'<data id="q{pay.pk}-ready">news of pay</data>')
        then = await page.html()

    for html in (first, then):
        assert f"q{orders.pk}-ready" in html
        assert f"q{pay.pk}-ready" not in html
    assert "news of pay" not in then


@pytest.mark.usefixtures("redis")
async def test_what_a_page_says_is_ignored(vera: User, orders: Queue) -> None:
    async with page_of(vera) as page:
        await page.opens()
        await page.html()

        await page.wire.send_input({"type": "websocket.receive", "text": "let me"})

        assert await page.wire.receive_nothing()


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("is_known", [True, False])
async def test_who_may_not_look_is_told_so_by_the_code(is_known: bool) -> None:
    nobody = await sync_to_async(make_user)("nobody") if is_known else None

    async with page_of(nobody) as page:
        assert (await page.opens())["type"] == "websocket.accept"
        assert await page.next() == CLOSED


@pytest.mark.usefixtures("redis")
async def test_other_sites_cannot_listen(vera: User) -> None:
    async with page_of(vera, origin=b"https://evil.example") as page:
        assert (await page.opens())["type"] == "websocket.close"


def sign_out(user: User) -> None:
    Session.objects.all().delete()


def take_away(user: User) -> None:
    user.user_permissions.clear()


def deactivate(user: User) -> None:
    user.is_active = False
    user.save()


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("ending", [sign_out, take_away, deactivate])
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


async def test_without_redis_the_browser_is_told_to_try_again(vera: User) -> None:
    async with page_of(vera) as page:
        answer = await page.opens()

    assert answer == {"type": "websocket.close", "code": consumers.TRY_AGAIN_LATER}
