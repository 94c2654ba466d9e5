"""The browser's end of the sockets of pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from console.asgi import application


class Page:
    """The browser's end of one socket."""

    def __init__(self, headers: list[tuple[bytes, bytes]], query: bytes = b"") -> None:
        scope = {
            "type": "websocket",
            "path": "/ws/depths/",
            "query_string": query,
            "headers": headers,
            "subprotocols": [],
        }
        self.wire: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def opens(self) -> dict[str, Any]:
        """What the server answers first."""
        await self.wire.send_input({"type": "websocket.connect"})
        return await self.next()

    async def next(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.wire.receive_output(timeout=30)
        return message

    async def says(self, text: str) -> None:
        await self.wire.send_input({"type": "websocket.receive", "text": text})

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
    whose: User | Client | None,
    origin: bytes = b"http://localhost",
    query: bytes = b"",
    cookies: str = "",
) -> AsyncIterator[Page]:
    headers = [(b"host", b"localhost"), (b"origin", origin)]
    client = whose if isinstance(whose, Client) else Client()
    if isinstance(whose, User):
        await sync_to_async(client.force_login)(whose)
    if whose is not None:
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        headers.append((b"cookie", f"{cookie.key}={cookie.value}{cookies}".encode()))
    page = Page(headers, query)
    try:
        yield page
    finally:
        await page.leaves()
