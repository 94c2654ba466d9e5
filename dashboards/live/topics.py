"""Live topics beside the depths, such as one operation.

Each topic is queried once a second while any page shows it, and at most once a second
over HTTP without sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from django.core.cache import cache
from django.db import Error
from django.utils.translation import get_language

from broker.security import authorities

EVERY_S = 1.0
KEPT_S = 0.9  # less than EVERY_S, so that each second has a new result
LARGEST = 2**63 - 1

Shown = tuple[int, str]  # the number of an object, and a language
Tell = Callable[[str], Awaitable[None]]  # sends HTML to one open page


@dataclass
class Topic:
    """Objects of one kind, each identified by a number.

    Attributes:
        name: the name of the kind; it precedes the number in URLs.
        may_see: whether a user may see one of them.
        look: queries the numbers of an object, rendered for their places on a page.
    """

    name: str
    may_see: Callable[[authorities.Principal, int], bool]
    look: Callable[[int], str]
    pages: dict[Shown, set[Tell]] = field(default_factory=dict)
    told: dict[Shown, str] = field(default_factory=dict)  # the last sent numbers
    tasks: dict[Shown, asyncio.Task[None]] = field(default_factory=dict)

    def html(self, number: int) -> str:
        """The numbers, at most a second old, in the language that is active."""
        key = f"dashboards.topic.{self.name}.{number}.{get_language()}"
        found: str | None = cache.get(key)
        if found is None:
            found = self.look(number)
            cache.set(key, found, KEPT_S)
        return found

    async def join(self, number: int, tell: Tell) -> None:
        """Send a page the present numbers, then every change, in its language: that of
        the first page with a language is active in the task for all of them."""
        shown = (number, get_language())
        self.pages.setdefault(shown, set()).add(tell)
        task = self.tasks.get(shown)
        if task is None or task.done():
            self.tasks[shown] = asyncio.create_task(self.keep_sending(shown))
        elif shown in self.told:
            await tell(self.told[shown])

    def leave(self, number: int, tell: Tell) -> None:
        shown = (number, get_language())
        left = self.pages.get(shown, set())
        left.discard(tell)
        if not left and shown in self.tasks:
            self.tasks.pop(shown).cancel()
            self.pages.pop(shown, None)
            self.told.pop(shown, None)

    async def keep_sending(self, shown: Shown) -> None:
        while True:
            # Without a database nothing is sent; pages show the age of their numbers.
            with suppress(Error):
                # The query runs in a thread of its own: thread-sensitive calls would
                # share one thread and wait for each other.
                look = database_sync_to_async(self.html, thread_sensitive=False)
                html = await look(shown[0])
                if html != self.told.get(shown):
                    self.told[shown] = html
                    # A page that is gone or slow must not delay the others.
                    tells = [tell(html) for tell in self.pages[shown]]
                    await asyncio.gather(*tells, return_exceptions=True)
            await asyncio.sleep(EVERY_S)


TOPICS: dict[str, Topic] = {}  # topics by name


def register(topic: Topic) -> None:
    TOPICS[topic.name] = topic


def topic_of(query: str) -> tuple[Topic, int] | None:
    """The topic in a page's URL, if it is known."""
    for name, value in parse_qsl(query[:200]):
        is_number = value.isascii() and value.isdecimal() and int(value) <= LARGEST
        if name in TOPICS and is_number:
            return TOPICS[name], int(value)
    return None
