"""The WebSocket of open pages: authorization, and forwarding of published numbers."""

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
from django.db import Error
from django.utils import timezone, translation
from redis import RedisError

from broker.security import authorities
from dashboards.live import depths, languages, publisher, rates, topics

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

FORBIDDEN = 4403
TRY_AGAIN_LATER = 1013  # close code: the browser reconnects, at growing intervals
# The user's rights are checked again after so many seconds: a sign-out or the loss of a
# role takes effect within this time.
LOOK_AGAIN_S = 4
ANSWERS_S = 5  # the longest time that an answer of Redis may take


class DepthsConsumer(AsyncWebsocketConsumer):
    """One open page that shows queue depths, and one topic that its URL may name.

    The page gets the totals on connecting, then changes while it is open, for the
    queues that it has listed as shown; not more often than its user wants.
    """

    may_look = True
    shown: frozenset[int] = frozenset()  # ids of the queues that the page shows
    held = authorities.NOTHING  # no authorities before the first check
    topic: tuple[topics.Topic, int] | None = None
    checked_at = 0.0  # no check yet
    watching: asyncio.Task[None] | None = None
    rate = rates.FASTEST
    language = languages.ENGLISH
    # the task that sends numbers at a slower rate
    resting: asyncio.Task[None] | None = None
    is_owed = False  # whether numbers changed that the page did not get yet
    news = ""  # the newest HTML of the topic that the page did not get yet

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        """Without Redis there are no updates; the page then polls over HTTP."""
        accepted = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
        self.language = languages.chosen(scope["cookies"], accepted)
        try:
            with translation.override(self.language):
                await super().__call__(scope, receive, send)
        except (RedisError, TimeoutError):
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})

    async def connect(self) -> None:
        # These steps may fail, and so they precede ``accept``: browsers wait longer
        # before the next attempt only if the connection was refused.
        if self.channel_layer is None:
            raise RedisError("CHANNEL_LAYERS has no default.")
        async with asyncio.timeout(ANSWERS_S):
            await self.channel_layer.group_add(depths.GROUP, self.channel_name)
            await asyncio.to_thread(publisher.note_page)
        self.topic = topics.topic_of(
            self.scope["query_string"].decode(errors="replace")
        )
        self.rate = rates.chosen(self.scope["cookies"])
        await self.accept()
        if await self.is_welcome():
            await self.send(await self.numbers())
            self.watching = asyncio.create_task(self.watch())
            if rates.is_slower(self.rate):
                self.resting = asyncio.create_task(self.tell_now_and_then())
            if self.topic:
                topic, number = self.topic
                await topic.join(number, self.tell)

    async def watch(self) -> None:
        """Check the user's rights and Redis also while nothing is published: the socket
        waits for Redis without a timeout.
        """
        while self.may_look:
            await asyncio.sleep(LOOK_AGAIN_S)
            with suppress(OSError):  # raised if the page was closed meanwhile
                if await self.is_welcome() and not await redis_knows():
                    await self.close(TRY_AGAIN_LATER)

    async def tell_now_and_then(self) -> None:
        """At a slower rate: send the present numbers if something has changed."""
        while self.may_look:
            await asyncio.sleep(rates.SECONDS[self.rate])
            # If the page was closed, nobody needs the numbers. Without a database, the
            # page asks for them over HTTP.
            with suppress(OSError, Error):
                if self.is_owed and await self.is_welcome():
                    self.is_owed, news, self.news = False, self.news, ""
                    await self.send(await self.numbers() + news)

    async def disconnect(self, code: int) -> None:
        for task in (self.watching, self.resting):
            if task is not None:
                task.cancel()
        if self.topic:
            topic, number = self.topic
            topic.leave(number, self.tell)
        # If this fails, the membership of the group expires by itself.
        with suppress(RedisError, TimeoutError, AttributeError):
            async with asyncio.timeout(ANSWERS_S):
                await self.channel_layer.group_discard(depths.GROUP, self.channel_name)

    async def receive(self, text_data: str | None = None, **_: Any) -> None:
        """The page lists the queues that it shows, and gets their numbers."""
        self.shown = depths.named(text_data or "")
        if self.shown and await self.is_welcome():
            await self.send(await self.numbers())

    async def numbers(self) -> str:
        """The totals, and the numbers of the queues shown."""
        told: str = await database_sync_to_async(html_for)(self.user, self.shown)
        return told

    async def depths_changed(self, event: dict[str, Any]) -> None:
        """Forward published numbers to users who may still see them.

        They are published in English, of all queues. A user of another language, or who
        may see only some queues, gets the numbers rendered anew, without a query.
        """
        if rates.is_slower(self.rate):
            self.is_owed = True
            return
        if not await self.is_welcome():
            return
        changed = [one for one in event["parts"] if int(one) in self.shown]
        is_english = self.language == languages.ENGLISH
        if is_english and self.held.everywhere("inquire"):
            parts = [event["parts"][one] for one in changed]
            await self.send("".join([*parts, event["sums"]]))
        else:
            part = database_sync_to_async(publisher.part)
            await self.send(await part(self.held, [int(one) for one in changed]))

    async def tell(self, html: str) -> None:
        """Forward changes of the topic."""
        if rates.is_slower(self.rate):
            self.is_owed, self.news = True, html
        elif await self.is_welcome():
            await self.send(html)

    async def is_welcome(self) -> bool:
        """Whether the user may look; checked again when the last check is old.

        If not, close the socket, after accept, so that the page gets the close code.
        """
        now = timezone.now().timestamp()
        if self.may_look and now - self.checked_at >= LOOK_AGAIN_S:
            self.checked_at = now
            if not await self.may_view() and self.may_look:
                self.may_look = False
                await self.close(FORBIDDEN)
        return self.may_look

    async def may_view(self) -> bool:
        """Query the database, not the scope, which is as old as the socket."""
        key = self.scope["session"].session_key
        session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        self.user = await get_user({"session": session})
        # Each query runs in a thread that then closes its database connection: a socket
        # has no request whose end would close it.
        self.held = await database_sync_to_async(authorities.held_by)(self.user)
        has_perm = database_sync_to_async(self.user.has_perm)
        may: bool = await has_perm("broker.view_queue")
        if may and self.topic:
            topic, number = self.topic
            may = await database_sync_to_async(topic.may_see)(self.user, number)
        return may


async def redis_knows() -> bool:
    """Whether Redis answers, and so knows that a page is open."""
    try:
        await asyncio.to_thread(publisher.note_page)
    except RedisError:
        return False
    return True


def html_for(user: authorities.Principal, shown: Collection[int]) -> str:
    """The numbers of the shown queues, and the totals of all queues, that the user may
    inquire.
    """
    held = authorities.held_by(user)
    every = depths.queues(user=user)
    return depths.html(
        every, [one for one in every if one.queue_id in shown], held=held
    )
