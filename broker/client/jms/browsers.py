"""Browsers: looking at a queue's messages, which stay there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from broker.client.jms.interfaces import SessionContext
from broker.client.jms.messages import Message
from broker.config.names import local_queue
from broker.formats.selectors import parse
from broker.models import Place
from broker.queueing import browse, selective_get
from broker.queueing.browse import Browsed
from broker.security import authorities

PAGE = 50  # messages


class Browser:
    """The messages of one queue that a get could have now, in the order of gets.

    Each iteration begins anew. It takes no lock, so a message may be gone, or another
    come, before its end; nothing is counted.
    """

    def __init__(self, session: SessionContext, queue: str, selector: str = "") -> None:
        self.session = session
        self.queue = local_queue(queue)
        authorities.require(session.user, "browse", self.queue.name)
        self.selector = parse(selector) if selector else None

    def __iter__(self) -> Iterator[Message]:
        after: str | None = ""
        while after is not None:
            entries, after = self.page(after)
            for delivery in browse.whole(self.queue.pk, entries):
                at = self.session.moment() if delivery.expires_at else None
                if (
                    at is None
                    or delivery.expires_at is None
                    or delivery.expires_at > at
                ):
                    yield Message(delivery, at)

    def page(self, after: str) -> tuple[list[Browsed], str | None]:
        """Some entries, and where the list goes on, unless it ends."""
        if self.selector is None:
            entries = browse.browse(self.queue.pk, Place.READY, after=after, limit=PAGE)
            return entries, entries[-1].cursor if len(entries) == PAGE else None
        page = selective_get.browse(
            self.queue.name,
            self.selector,
            after=after,
            limit=PAGE,
            now=self.session.connection.now,
        )
        return page.entries, page.after or None

    def close(self) -> None:
        """Nothing is held; this is for those who close everything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
