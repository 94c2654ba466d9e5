"""Browsers: read a queue's messages without removing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from broker.client.jms.messages import Message
from broker.config.names import local_queue
from broker.formats.selectors import parse
from broker.models import Place
from broker.queueing import browse, selective_get
from broker.queueing.browse import Browsed
from broker.security import authorities

if TYPE_CHECKING:
    from broker.client.jms.sessions import Session

PAGE = 50  # entries of one page


class Browser:
    """The available messages of a queue, in the order of gets.

    Each iteration starts from the beginning. It takes no lock, so messages may come and
    go meanwhile; nothing is counted.
    """

    def __init__(self, session: Session, queue: str, selector: str = "") -> None:
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
        """One page of entries, and the cursor of the next; None at the end."""
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
        """Do nothing: a browser holds no resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
