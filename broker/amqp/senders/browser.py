"""A link by which a client browses; the messages stay on the queue.

Nothing is locked or counted, and outcomes have no effect. When the client drains, the
browse ends after the last message; otherwise it goes on with messages put later.

The queue is read in a database thread. The position is kept for each priority. So an
entry put later is seen later, whatever its priority. An entry that returned to a place
before the position is not seen again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from broker import sql
from broker.amqp.ends import End, Snapshot
from broker.amqp.messages.convert import NONE, to_send
from broker.amqp.messages.modified_annotations import Annotated, added_to
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery as Sent
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.senders.closing import AWAY_S, why_it_ends
from broker.amqp.senders.outcomes import bare
from broker.amqp.senders.sender import SETTLED, TAG
from broker.formats.selectors import Selector, parse
from broker.models import ClientEndpoint, Queue
from broker.queueing import notifications
from broker.queueing.browse import Browsed, browsed, whole
from broker.queueing.get import HIGHEST, LOWEST, NEW, PRIORITIES, Delivery
from broker.queueing.selective_get import LOOKS, SCAN, LanePosition, Walk, lanes_of
from broker.sql.waits import Waits

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

logger = logging.getLogger(__name__)

MOST = 100  # most messages in one read
MOST_BYTES = 4 * 2**20  # most bytes in one read, estimated from earlier reads
UNKNOWN_BYTES = 128 * 2**10  # assumed size of a message before the first read
LEVELS = list(range(9, -1, -1))  # priorities, in the order of gets
UNREADABLE = "Message %d of %s cannot be shown to a client of AMQP."


class Looks(End):
    """The ``End`` of a link by which a client browses."""

    kind = ClientEndpoint.Kind.BROWSES.value
    chooses = True  # a browser leaves entries to other consumers

    def __init__(
        self, client: Client, endpoint: Sender, queue: Queue, selector: str = ""
    ) -> None:
        """Create the end; nothing is read before ``flowed``.

        Args:
            client: the client.
            endpoint: the protocol's endpoint.
            queue: the queue to browse.
            selector: a valid selector of the messages to see; empty: all.
        """
        self.client = client
        self.endpoint = endpoint
        self.queue_id: int = queue.pk
        self.node = queue.name
        self.needs = ("browse", queue.name)
        self.waits = Waits(AWAY_S)
        wanted = parse(selector) if selector else None
        self.viewer = Viewer(queue, wanted, endpoint.largest)
        attach = endpoint.attach
        self.is_settled = attach is not None and attach.snd_settle_mode == SETTLED
        self.unsent: deque[tuple[int, bytes]] = deque()
        self.typical = UNKNOWN_BYTES  # typical size of a message, in bytes
        self.messages = 0
        self.settled = 0
        self.seen = 0  # version of the queue at the last read
        self.is_looking = False
        self.was_draining = False  # the client was draining when the last read began
        self.is_asleep = False
        self.is_over = False

    # Calls from the client's events.

    def flowed(self) -> None:
        self.go_on()

    def resumed(self) -> None:
        self.go_on()

    def disposed(
        self,
        deliveries: Sequence[Sent],
        state: p.DeliveryState | None,
        settled: bool,  # noqa: FBT001 - as of every End
    ) -> None:
        is_outcome = not isinstance(state, p.Received | None)
        if settled or is_outcome:
            self.settled += len(deliveries)
        if is_outcome and not settled:
            self.endpoint.session.settle(deliveries, bare(state))
            self.client.flush()
        self.go_on()

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        self.is_over = True
        self.unsent.clear()
        self.client.listener.waking.leave(self)

    def lost(self) -> None:
        self.detached(closed=False)

    def snapshot(self) -> Snapshot:
        unsettled = len(self.endpoint.unsettled)
        return Snapshot(self.endpoint.credit, unsettled, self.messages, self.settled)

    # Messages from the queue to the client.

    @property
    def is_blocked(self) -> bool:
        return self.client.paused or not self.endpoint.session.can_send

    def go_on(self) -> None:
        """Send and read as far as possible now; may be called at any time."""
        if self.is_over:
            return
        self.dispatch()
        if self.is_looking or self.is_blocked:
            return
        limit = self.fetch_limit()
        if limit < 1:
            self.rouse()
            self.say_drained()
        elif self.endpoint.drain or not self.is_asleep:
            self.look_for(limit)

    def dispatch(self) -> None:
        while self.unsent and self.endpoint.credit > 0 and not self.is_blocked:
            message_id, payload = self.unsent.popleft()
            tag = TAG.pack(message_id, self.messages)
            self.endpoint.send(payload, tag=tag, settled=self.is_settled)
            self.messages += 1
        self.client.flush()

    def fetch_limit(self) -> int:
        """How many messages to read now, within the limit of unsettled messages."""
        left = self.client.limits.max_in_flight - len(self.endpoint.unsettled)
        credit = self.endpoint.credit - len(self.unsent)
        room = min(credit, MOST, left - len(self.unsent))
        if room < 1 or self.client.stopping:
            return 0
        return max(1, min(room, MOST_BYTES // self.typical))

    def look_for(self, limit: int) -> None:
        self.rouse()
        self.is_looking, self.was_draining = True, self.endpoint.drain
        self.seen = notifications.version(self.queue_id)
        listener = self.client.listener
        future = listener.database(self.viewer.view, limit, listener.now())
        future.add_done_callback(partial(self.client.guard, self.looked))

    def looked(self, future: asyncio.Future[View]) -> None:
        """Handle the result of a read."""
        self.is_looking = False
        if future.cancelled() or self.is_over:
            return
        self.client.listener.waking.leave(self)
        error = future.exception()
        if error is not None:
            self.failed(error)
            return
        view = future.result()
        self.unsent += view.messages
        if view.messages:
            sizes = [len(payload) for _, payload in view.messages]
            self.typical = max(sum(sizes) // len(sizes), 1)
        self.dispatch()
        if view.at_end:
            self.rest()
        else:
            self.go_on()

    def rest(self) -> None:
        """At the end of the queue: answer a drain, or wait for new entries."""
        if self.endpoint.drain:
            if self.was_draining:
                self.say_drained()
            else:
                self.go_on()
        elif self.client.listener.waking.sleep(self, self.seen):
            self.is_asleep = True
        else:
            self.go_on()

    def say_drained(self) -> None:
        if self.endpoint.drain and not self.unsent:
            self.endpoint.drained()
            self.client.flush()

    def look(self) -> None:
        """Read again, as an entry may have come; called by ``Waking``."""
        self.is_asleep = False
        self.go_on()
        if not self.is_looking:
            self.client.listener.waking.leave(self)

    def rouse(self) -> None:
        if self.is_asleep:
            self.is_asleep = False
            self.client.listener.waking.leave(self)

    def failed(self, error: BaseException) -> None:
        why = why_it_ends(error, self.node)
        if why is None:
            wait_s = self.waits.next_s()
            self.client.listener.loop.call_later(wait_s, self.client.guard, self.go_on)
            return
        self.endpoint.detach(closed=True, error=why)
        self.endpoint.context = None
        self.detached(closed=True)
        self.client.flush()


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
        # The search by selector that the next read continues; None: it begins a new
        # one.
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
