"""What several open pages may show beside the depths, such as one operation.

Each is asked for once a second while any page shows it, however many do; and over HTTP,
where there is no socket, no more often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from django.core.cache import cache
from django.db import Error

from broker.security import authorities

EVERY_S = 1.0
KEPT_S = 0.9  # for all who ask within the same second
LARGEST = 2**63 - 1


class Page(Protocol):
    """One that is told."""

    async def tell(self, html: str) -> None: ...


@dataclass
class Topic:
    """Things of one kind, each known by a number.

    Attributes:
        name: of the kind; in URLs, before the number.
        may_see: whether somebody may see one of them.
        look: its numbers, each with the name of its place on a page.
    """

    name: str
    may_see: Callable[[authorities.Principal, int], bool]
    look: Callable[[int], str]
    pages: dict[int, set[Page]] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)  # last
    tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def html(self, number: int) -> str:
        """The numbers as they were within this second."""
        key = f"dashboards.topic.{self.name}.{number}"
        found: str | None = cache.get(key)
        if found is None:
            found = self.look(number)
            cache.set(key, found, KEPT_S)
        return found

    async def join(self, number: int, page: Page) -> None:
        """Tell this page what changes, from now on and first of all what is."""
        others = self.pages.setdefault(number, set())
        others.add(page)
        task = self.tasks.get(number)
        if task is None or task.done():
            self.tasks[number] = asyncio.create_task(self.keep_telling(number))
        elif number in self.told:
            await page.tell(self.told[number])

    def leave(self, number: int, page: Page) -> None:
        left = self.pages.get(number, set())
        left.discard(page)
        if not left and number in self.tasks:
            self.tasks.pop(number).cancel()
            self.pages.pop(number, None)
            self.told.pop(number, None)

    async def keep_telling(self, number: int) -> None:
        while True:
            # Nobody is told without a database; pages say themselves how old they are.
            with suppress(Error):
                # Not behind what else sockets wait for, which is done one by one.
                look = database_sync_to_async(self.html, thread_sensitive=False)
                html = await look(number)
                if html != self.told.get(number):
                    self.told[number] = html
                    # Who has gone meanwhile, or is slow, is no matter of the others.
                    tells = [page.tell(html) for page in self.pages[number]]
                    await asyncio.gather(*tells, return_exceptions=True)
            await asyncio.sleep(EVERY_S)


TOPICS: dict[str, Topic] = {}  # by their names


def register(topic: Topic) -> None:
    TOPICS[topic.name] = topic


def asked_for(query: str) -> tuple[Topic, int] | None:
    """What a page's URL names beside the depths, if that is known."""
    for name, value in parse_qsl(query[:200]):
        is_number = value.isascii() and value.isdecimal() and int(value) <= LARGEST
        if name in TOPICS and is_number:
            return TOPICS[name], int(value)
    return None
