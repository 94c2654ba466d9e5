"""A link by which a client gets messages, within its credit.

Entries are fetched ahead in a thread, and are claimed by this process from then on. One
fetch runs at a time. Some clients give credit one by one: while the client still has
messages, a fetch waits a little for more credit. When the queue is empty, it waits
until an entry comes (``wakeups``). Outcomes are handled in ``settle``, the end of the
link in ``closing``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from broker.amqp.ends import End, Snapshot
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.senders.closing import AWAY_S, Parting, why_it_ends
from broker.amqp.senders.fetch import InFlight, InFlightEntry, Taken, Taker, Wishes
from broker.amqp.senders.settle import Settling
from broker.formats.selectors import parse
from broker.models import ClientEndpoint, Queue, Subscription
from broker.monitoring.busy_time import BusyTime
from broker.queueing import notifications
from broker.queueing.get import Delivery as Got
from broker.queueing.selective_get import Search
from broker.sql.waits import Waits
from broker.transactions.prefetch import Prefetched

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

SETTLED = 1  # value of snd-settle-mode: the client asks for settled messages
TAG = Struct(">QQ")  # 16 bytes: Azure's clients read a tag as a GUID
MOST = 500  # most entries in one fetch
MOST_BYTES = 8 * 2**20  # most bytes in one fetch, estimated from earlier fetches
UNKNOWN_BYTES = 128 * 2**10  # assumed size of a message before the first fetch
# Delay of a fetch, so that more credit may arrive and one fetch uses all of it.
TOGETHER_S = 0.002
STARVED_S = 0.05  # delay while the connection's other Senders hold all bytes


class Gets(End):
    """The ``End`` of a link by which a client gets.

    The future ``ended`` is done once the link is over and its unit of work has ended.

    A client that asks for settled deliveries (``snd-settle-mode``) gets each at most
    once: they are accepted before they are sent.
    """

    kind = ClientEndpoint.Kind.GETS.value
    window = 0  # the largest credit so far
    typical = UNKNOWN_BYTES  # typical size of a message, in bytes
    seen = 0  # version of the queue at the last fetch
    messages = 0
    is_looking = False  # a fetch runs
    was_draining = False  # the client was draining when the last fetch began
    is_asleep = False
    timer: asyncio.TimerHandle | None = None
    parting: Parting | None = None

    def __init__(  # noqa: PLR0913 - each is named where it is used
        self,
        client: Client,
        endpoint: Sender,
        queue: Queue,
        selector: str = "",
        *,
        no_local: bool = False,
        mark: bool = False,
        subscription: Subscription | None = None,
    ) -> None:
        """Create the end; nothing is fetched before ``flowed``.

        Args:
            client: the client.
            endpoint: the protocol's endpoint.
            queue: the queue to get from.
            selector: a valid selector of the messages to get; empty: all.
            no_local: whether messages put by the same client are accepted without
                sending them.
            mark: whether the client may mark deliveries to skip backout.
            subscription: a subscription that ends with the endpoint; a durable one ends
                only if the client closes the link.
        """
        self.client = client
        self.listener = client.listener
        self.endpoint = endpoint
        self.queue = queue
        self.queue_id: int = queue.pk
        self.node = queue.name
        self.needs = ("get", queue.name)
        self.waits = Waits(AWAY_S)
        self.mark = mark
        self.subscription = subscription
        attach = endpoint.attach
        wishes = Wishes(
            is_settled=attach is not None and attach.snd_settle_mode == SETTLED,
            not_from=client.container_id if no_local else None,
            largest=endpoint.largest,
            is_azure=client.is_azure,
        )
        self.is_settled = wishes.is_settled
        search = Search(queue.name, parse(selector)) if selector else None
        ahead = Prefetched(queue, search=search, actor=client.actor, user=client.user)
        self.taker = Taker(queue, ahead, wishes)
        self.held: InFlight = InFlight(client)
        self.settling = Settling(self)
        self.busy = BusyTime(1, self.listener.loop.time())
        self.chooses = bool(selector) or no_local
        self.ended: asyncio.Future[None] = self.listener.loop.create_future()

    # Calls from the client's events.

    def flowed(self) -> None:
        self.go_on()

    def resumed(self) -> None:
        self.go_on()

    def disposed(
        self,
        deliveries: Sequence[Delivery],
        state: p.DeliveryState | None,
        settled: bool,  # noqa: FBT001 - as of every End
    ) -> None:
        self.settling.disposed(deliveries, state, is_settled=settled)

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        """Release deliveries without an outcome: at once, uncounted, in order."""
        self.part(Parting(self, is_closed=closed))

    def lost(self) -> None:
        """Back out what the client may have seen; the queue's policy decides whether
        it counts."""
        self.part(Parting(self, is_lost=True))

    def snapshot(self) -> Snapshot:
        unsettled = len(self.held) - len(self.held.unsent)
        now_s = self.listener.loop.time()
        self.busy.hold(int(unsettled > 0), now_s)
        return Snapshot(
            *(self.endpoint.credit, unsettled, self.messages, self.held.settled),
            busy_percent=None if self.is_settled else self.busy.percent(now_s),
        )

    # Entries to the client.

    @property
    def is_over(self) -> bool:
        return self.parting is not None

    @property
    def is_blocked(self) -> bool:
        """Whether the client's session window is closed, or its socket full."""
        return self.client.paused or not self.endpoint.session.can_send

    def go_on(self) -> None:
        """Send and fetch as far as possible now; may be called at any time."""
        if self.parting is not None:
            self.parting.go_on()
            return
        self.dispatch()
        self.consider()

    def dispatch(self) -> None:
        """Send fetched entries, within the client's credit and window."""
        unsent, now = self.held.unsent, self.listener.now()
        endpoint, expired = self.endpoint, list[InFlightEntry]()
        session, is_paused = endpoint.session, self.client.paused
        while unsent and endpoint.credit > 0 and session.can_send and not is_paused:
            entry = unsent.popleft()
            if entry.got.expires_at is not None and entry.got.expires_at <= now:
                expired.append(entry)
            else:
                self.send(entry)
        if not self.is_settled:
            while len(unsent) > self.endpoint.credit:  # the client has withdrawn credit
                expired.append(unsent.pop())
            self.settling.release(expired)
        self.client.flush()

    def send(self, entry: InFlightEntry) -> None:
        tag = TAG.pack(entry.got.message_id, self.messages)
        delivery = self.endpoint.send(entry.payload, tag=tag, settled=self.is_settled)
        entry.payload = b""
        self.messages += 1
        if self.is_settled:
            self.held.drop([entry])
            self.held.settled += 1
        else:
            entry.sent, delivery.context = delivery, entry

    def hide(self, deliveries: Sequence[Got]) -> None:
        """Do not fetch these entries again until the client attaches anew."""
        if deliveries:
            self.held.hide(deliveries)
            self.choose()

    # Fetches.

    @property
    def may_look(self) -> bool:
        """Whether a fetch may start. It must wait while entries are being given back,
        as these entries come before entries that are not fetched yet."""
        is_busy = self.is_looking or self.settling.returning
        return not (self.is_over or is_busy or self.is_blocked)

    def consider(self) -> None:
        """Fetch now, or after a short wait, or not at all."""
        if not self.may_look:
            return
        self.window = max(self.window, self.endpoint.credit)
        limit = self.fetch_limit()
        if limit < 1:
            self.is_asleep = False
            self.listener.waking.leave(self)
            self.say_drained()
        elif self.endpoint.drain:
            self.take(limit)
        elif not self.is_asleep:
            if limit * 4 >= self.window or not self.held:
                self.take(limit)
            else:
                self.consider_in(TOGETHER_S)

    def fetch_limit(self) -> int:
        """How many entries to fetch now.

        If the client's other Senders hold all its bytes, this Sender still fetches
        single entries.
        """
        limits, held = self.client.limits, self.held
        credit = self.endpoint.credit - len(held.unsent)
        room = min(credit, MOST, limits.max_in_flight - len(held))
        if room < 1 or self.client.stopping:
            return 0
        left = limits.max_in_flight_bytes - self.client.in_flight_bytes
        if left < 1 and held:
            self.consider_in(STARVED_S)
            return 0
        return max(1, min(room, min(left, MOST_BYTES) // self.typical))

    def consider_in(self, delay_s: float) -> None:
        if self.timer is None:
            guard = self.client.guard
            self.timer = self.listener.loop.call_later(delay_s, guard, self.time_passed)

    def time_passed(self) -> None:
        """The wait for more credit is over: fetch even for little credit."""
        self.timer = None
        limit = 0 if self.is_asleep or not self.may_look else self.fetch_limit()
        if limit > 0:
            self.take(limit)

    def take(self, limit: int) -> None:
        self.is_looking, self.is_asleep = True, False
        self.was_draining = self.endpoint.drain
        self.seen = notifications.version(self.queue_id)
        hidden = set(self.held.hidden)
        now, take = self.listener.now(), self.taker.take
        future = self.listener.database(take, limit, now, hidden)
        future.add_done_callback(partial(self.client.guard, self.taken, limit))

    def taken(self, limit: int, future: asyncio.Future[Taken]) -> None:
        """Handle the result of a fetch."""
        self.is_looking = False
        if future.cancelled():
            return
        error = future.exception()
        if error is not None:
            self.listener.waking.leave(self)
            self.failed(error)
            return
        taken = future.result()
        self.held.take(taken.entries)
        self.hide(taken.unfit)
        if self.is_over:
            self.go_on()
            return
        self.listener.waking.looked(self, self.seen, found=taken.count > 0)
        self.learn(taken.entries)
        self.settling.release(self.held.pass_by())
        self.dispatch()
        if taken.count < limit and not (taken.count and self.endpoint.drain):
            self.rest()
        else:
            self.consider()

    def learn(self, entries: list[InFlightEntry]) -> None:
        if entries:
            mean = sum(entry.size for entry in entries) // len(entries) + 1
            self.typical = max(mean, (self.typical + mean) // 2)

    def rest(self) -> None:
        """On an empty queue: answer a drain, or wait for new entries."""
        if self.endpoint.drain:
            if self.was_draining:
                self.say_drained()
            else:  # entries put before the drain may have arrived since the fetch
                self.consider()
        elif self.fetch_limit() < 1:
            return
        elif self.listener.waking.sleep(self, self.seen):
            self.is_asleep = True
        else:
            self.consider()

    def say_drained(self) -> None:
        if self.endpoint.drain and not self.held.unsent:
            self.endpoint.drained()
            self.client.flush()

    def look(self) -> None:
        """Fetch again, as an entry may have come; called by ``Waking``."""
        self.is_asleep = False
        self.consider()
        if not self.is_looking:
            self.listener.waking.leave(self)

    def choose(self) -> None:
        """Join the waiting line of consumers that may leave entries to others."""
        if not self.chooses:
            self.listener.waking.leave(self)
            self.is_asleep = False
            self.chooses = True

    # Errors, and the end of the link.

    def failed(self, error: BaseException) -> None:
        """Handle a failed fetch or outcome."""
        why = why_it_ends(error, self.node)
        if self.is_over:
            self.go_on()
        elif why is None:
            self.consider_in(self.waits.next_s())
        else:
            self.force(why)

    def force(self, error: AmqpError) -> None:
        """Detach the endpoint on the broker's initiative."""
        self.endpoint.detach(closed=True, error=error)
        self.endpoint.context = None
        self.detached(False)  # noqa: FBT003 - as of every End
        self.client.flush()

    def part(self, parting: Parting) -> None:
        if self.parting is not None:
            return
        self.parting = parting
        if self.timer is not None:
            self.timer.cancel()
        self.listener.waking.leave(self)
        parting.begin()
