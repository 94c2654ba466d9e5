"""Read a queue for a client that browses, in a database thread.

The position is kept for each priority. So an entry put later is seen later, whatever
its priority. An entry that returned to a place before the position is not seen again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from broker import sql
from broker.amqp.messages.convert import NONE, to_send
from broker.amqp.messages.modified_annotations import Annotated, added_to
from broker.formats.selectors import Selector
from broker.models import Queue
from broker.queueing.browse import Browsed, browsed, whole
from broker.queueing.get import HIGHEST, LOWEST, NEW, PRIORITIES, Delivery
from broker.queueing.selective_get import LOOKS, SCAN, LanePosition, Walk, lanes_of

logger = logging.getLogger(__name__)

LEVELS = list(range(9, -1, -1))  # priorities, in the order of gets
UNREADABLE = "Message %d of %s cannot be shown to a client of AMQP."


@dataclass(frozen=True, slots=True)
class View:
    """The result of one read: encoded messages to send."""

    messages: list[tuple[int, bytes]]  # each message with the broker's message number
    at_end: bool  # no more messages were on the queue


class Viewer:
    """Reads one queue for one client; one call at a time."""

    def __init__(
        self, queue: Queue, selector: Selector | None, largest: int | None
    ) -> None:
        self.queue = queue
        self.selector = selector
        self.largest = largest  # largest message for the client, in bytes
        self.lows = [LOWEST] * len(LEVELS)  # next position to read, by priority
        # The current walk over the entries; None after its end.
        self.walk: Walk | None = None

    def view(self, limit: int, now: datetime) -> View:
        """The next messages that a get could take, at most ``limit`` of them.

        There may be fewer, even before the end.
        """
        if self.selector is None:
            entries, at_end = self.all(limit)
        else:
            entries, at_end = self.chosen(self.selector, limit)
        there = [
            one
            for one in whole(self.queue.pk, entries)
            if one.expires_at is None or one.expires_at > now
        ]
        added = added_to(there)
        encoded = [
            (one.message_id, self.encoded(one, now, added.get(one.message_id, NONE)))
            for one in there
        ]
        return View([(key, sent) for key, sent in encoded if sent], at_end)

    def all(self, limit: int) -> tuple[list[Browsed], bool]:
        entries = sql.fetch(
            "browse_ready",
            browsed,
            queue_id=self.queue.pk,
            priorities=LEVELS,
            lows=self.lows,
            limit=limit,
        )
        self.note([LanePosition(2 * (9 - one.priority), one.pos) for one in entries])
        return entries, len(entries) < limit

    def chosen(self, selector: Selector, limit: int) -> tuple[list[Browsed], bool]:
        walk = self.walk
        if walk is None:
            lows = [
                bound for low in self.lows for bound in (min(low, NEW), max(low, NEW))
            ]
            walk = Walk(self.queue.name, selector, lows, though_paused=True)
        places: list[LanePosition] = []
        for _ in range(LOOKS):
            if len(places) == limit or walk.at_end:
                break
            places += walk.on(min(limit - len(places), SCAN))
        self.note(places)
        self.walk = None if walk.at_end else walk
        lanes = lanes_of(places)
        entries = sql.fetch(
            "browse_chosen",
            browsed,
            queue=self.queue.name,
            priorities=lanes.priorities,
            lows=lanes.lows,
        )
        return entries, walk.at_end

    def note(self, places: list[LanePosition]) -> None:
        """Set the positions to continue after these entries."""
        for lane, pos in places:
            level = 9 - PRIORITIES[lane]
            self.lows[level] = min(max(self.lows[level], pos + 1), HIGHEST)

    def encoded(
        self, delivery: Delivery, now: datetime, added: Annotated
    ) -> bytes | None:
        try:
            payload = to_send(delivery, now=now, annotations=added)
        except Exception:
            logger.exception(UNREADABLE, delivery.message_id, self.queue.name)
            return None
        is_fit = self.largest is None or len(payload) <= self.largest
        return payload if is_fit else None
