"""The sockets of open pages: who may listen, and passing on what is published."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils import timezone
from redis import RedisError

from broker import authorities
from dashboards import depths

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

FORBIDDEN = 4403
TRY_AGAIN_LATER = 1013  # the browser does, at growing intervals
LOOK_AGAIN_S = 30  # signing out and losing a role take effect within this


class DepthsConsumer(AsyncWebsocketConsumer):
    """One open page that shows queue depths.

    The page gets the depths on connecting, so it is never empty, and then what changes
    while it stays open. What it sends is ignored.
    """

    may_look = True
    sees_all = False  # else what is published is not for this page
    checked_at = 0.0  # never

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        """Without Redis there is nothing to pass on; the page asks over HTTP then."""
        try:
            await super().__call__(scope, receive, send)
        except RedisError:
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})

    async def connect(self) -> None:
        # Before accept: to be refused, and only that, makes browsers wait longer.
        await self.channel_layer.group_add(depths.GROUP, self.channel_name)
        await self.accept()
        if await self.is_welcome():
            await self.send(await self.whole())

    async def disconnect(self, code: int) -> None:
        await self.channel_layer.group_discard(depths.GROUP, self.channel_name)

    async def receive(self, **ignored: Any) -> None:
        """Pages have nothing to say here."""

    async def depths_changed(self, event: dict[str, str]) -> None:
        """Pass on what was published, to those who may still see it.

        Who may see some queues only gets the numbers of those, counted once more.
        """
        if await self.is_welcome():
            await self.send(event["html"] if self.sees_all else await self.whole())

    async def is_welcome(self) -> bool:
        """Whether this person may look, asked anew when the answer is old.

        If not, the socket is closed: after accept, so that the page sees the code.
        """
        now = timezone.now().timestamp()
        if self.may_look and now - self.checked_at >= LOOK_AGAIN_S:
            self.checked_at = now
            self.may_look = await self.may_view()
            if not self.may_look:
                await self.close(FORBIDDEN)
        return self.may_look

    async def may_view(self) -> bool:
        """Ask the database, not the scope: that one is as old as the socket."""
        key = self.scope["session"].session_key
        session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        self.user = await get_user({"session": session})
        # Also through a thread: it closes its connection, and a socket has no request
        # to do so.
        held = await database_sync_to_async(authorities.held_by)(self.user)
        self.sees_all = held.everywhere("inquire")
        has_perm = database_sync_to_async(self.user.has_perm)
        may: bool = await has_perm("broker.view_queue")
        return may

    async def whole(self) -> str:
        """All numbers of all queues that this person may inquire."""
        html: str = await database_sync_to_async(html_for)(self.user)
        return html


def html_for(user: authorities.Principal) -> str:
    return depths.html(depths.queues(user=user))
