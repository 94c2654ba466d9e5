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

from broker.security import authorities

EVERY_S = 1.0
KEPT_S = 0.9  # less than EVERY_S, so that each second has a new result
LARGEST = 2**63 - 1

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
    pages: dict[int, set[Tell]] = field(default_factory=dict)
    # the last sent numbers, by the number of the object
    told: dict[int, str] = field(default_factory=dict)
    tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def html(self, number: int) -> str:
        """The numbers, at most a second old."""
        key = f"dashboards.topic.{self.name}.{number}"
        found: str | None = cache.get(key)
        if found is None:
            found = self.look(number)
            cache.set(key, found, KEPT_S)
        return found

    async def join(self, number: int, tell: Tell) -> None:
        """Send a page the present numbers, then every change."""
        others = self.pages.setdefault(number, set())
        others.add(tell)
        task = self.tasks.get(number)
        if task is None or task.done():
            self.tasks[number] = asyncio.create_task(self.keep_sending(number))
        elif number in self.told:
            await tell(self.told[number])

    def leave(self, number: int, tell: Tell) -> None:
        left = self.pages.get(number, set())
        left.discard(tell)
        if not left and number in self.tasks:
            self.tasks.pop(number).cancel()
            self.pages.pop(number, None)
            self.told.pop(number, None)

    async def keep_sending(self, number: int) -> None:
        while True:
            # Without a database nothing is sent; pages show the age of their numbers.
            with suppress(Error):
                # The query runs in a thread of its own: thread-sensitive calls would
                # share one thread and wait for each other.
                look = database_sync_to_async(self.html, thread_sensitive=False)
                html = await look(number)
                if html != self.told.get(number):
                    self.told[number] = html
                    # A page that is gone or slow must not delay the others.
                    tells = [tell(html) for tell in self.pages[number]]
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
