"""The sockets of open pages: who may listen, and passing on what is published."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils import timezone
from redis import RedisError

from broker.security import authorities
from dashboards.live import depths, publisher, samples, topics

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

FORBIDDEN = 4403
TRY_AGAIN_LATER = 1013  # the browser does, at growing intervals
LOOK_AGAIN_S = 4  # signing out and losing a role take effect within this
ANSWERS_S = 5  # Redis, or it is taken to be gone


class DepthsConsumer(AsyncWebsocketConsumer):
    """One open page that shows queue depths, and one topic that its URL may name.

    The page gets the sums on connecting, and then what changes while it stays open: of
    the queues of which it has said that it shows them, however many others there are.
    """

    may_look = True
    shown: frozenset[int] = frozenset()  # queues
    held = authorities.NOTHING  # until it was asked
    topic: tuple[topics.Topic, int] | None = None
    checked_at = 0.0  # never
    watching: asyncio.Task[None] | None = None

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        """Without Redis there is nothing to pass on; the page asks over HTTP then."""
        try:
            await super().__call__(scope, receive, send)
        except (RedisError, TimeoutError):
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})

    async def connect(self) -> None:
        # Before accept: to be refused, and only that, makes browsers wait longer.
        async with asyncio.timeout(ANSWERS_S):
            await self.channel_layer.group_add(depths.GROUP, self.channel_name)
        self.topic = topics.asked_for(
            self.scope["query_string"].decode(errors="replace")
        )
        await self.accept()
        if await self.is_welcome():
            await self.send(await self.numbers())
            self.watching = asyncio.create_task(self.watch())
            if self.topic:
                topic, number = self.topic
                await topic.join(number, self)

    async def watch(self) -> None:
        """Look again, also while nothing is published: who looks, and whether Redis,
        for which the socket waits without end, answers."""
        while self.may_look:
            await asyncio.sleep(LOOK_AGAIN_S)
            with suppress(OSError):  # the page is gone, and its socket ends
                if await self.is_welcome() and not await answers():
                    await self.close(TRY_AGAIN_LATER)

    async def disconnect(self, code: int) -> None:
        if self.watching is not None:
            self.watching.cancel()
        if self.topic:
            topic, number = self.topic
            topic.leave(number, self)
        with suppress(RedisError, TimeoutError):  # it forgets by itself
            async with asyncio.timeout(ANSWERS_S):
                await self.channel_layer.group_discard(depths.GROUP, self.channel_name)

    async def receive(self, text_data: str | None = None, **_: Any) -> None:
        """The page says which queues it shows; it gets their numbers."""
        self.shown = depths.named(text_data or "")
        if self.shown and await self.is_welcome():
            await self.send(await self.numbers())

    async def numbers(self) -> str:
        """The sums, and the numbers of what is shown."""
        told: str = await database_sync_to_async(html_for)(self.user, self.shown)
        return told

    async def depths_changed(self, event: dict[str, Any]) -> None:
        """Pass on what was published, to those who may still see it.

        Who may see some queues only gets the numbers of those, without asking the
        database.
        """
        if not await self.is_welcome():
            return
        changed = [one for one in event["parts"] if int(one) in self.shown]
        if self.held.everywhere("inquire"):
            parts = [event["parts"][one] for one in changed]
            await self.send("".join([*parts, event["sums"]]))
        else:
            part = database_sync_to_async(publisher.part)
            await self.send(await part(self.held, [int(one) for one in changed]))

    async def tell(self, html: str) -> None:
        """Pass on what is new of the topic."""
        if await self.is_welcome():
            await self.send(html)

    async def is_welcome(self) -> bool:
        """Whether this person may look, asked anew when the answer is old.

        If not, the socket is closed: after accept, so that the page sees the code.
        """
        now = timezone.now().timestamp()
        if self.may_look and now - self.checked_at >= LOOK_AGAIN_S:
            self.checked_at = now
            if not await self.may_view() and self.may_look:
                self.may_look = False
                await self.close(FORBIDDEN)
        return self.may_look

    async def may_view(self) -> bool:
        """Ask the database, not the scope: that one is as old as the socket."""
        key = self.scope["session"].session_key
        session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        self.user = await get_user({"session": session})
        # Also through a thread: it closes its connection, and a socket has no request
        # to do so.
        self.held = await database_sync_to_async(authorities.held_by)(self.user)
        has_perm = database_sync_to_async(self.user.has_perm)
        may: bool = await has_perm("broker.view_queue")
        if may and self.topic:
            topic, number = self.topic
            may = await database_sync_to_async(topic.may_see)(self.user, number)
        return may


async def answers() -> bool:
    """Whether Redis does."""
    try:
        await asyncio.to_thread(samples.memory().ping)
    except RedisError:
        return False
    return True


def html_for(user: authorities.Principal, shown: Collection[int]) -> str:
    """The numbers of some queues, if this person may inquire them; sums of all that
    they may."""
    held = authorities.held_by(user)
    every = depths.queues(user=user)
    return depths.html(
        every, [one for one in every if one.queue_id in shown], held=held
    )
