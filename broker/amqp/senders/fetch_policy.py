"""Fetch policy: when to fetch entries for a client's credit, and how many.

One fetch runs at a time. Some clients give credit one by one: while the client still
has messages, a fetch waits a little for more credit. When the queue is empty, it waits
until an entry comes (``wakeups``).
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol

from broker.amqp.senders.fetch import Taken
from broker.amqp.senders.in_flight import InFlightEntry
from broker.amqp.senders.interfaces import SenderContext
from broker.amqp.senders.settle import Settling
from broker.queueing import notifications

MOST = 500  # most entries in one fetch
MOST_BYTES = 8 * 2**20  # most bytes in one fetch, estimated from earlier fetches
UNKNOWN_BYTES = 128 * 2**10  # assumed size of a message before the first fetch
TOGETHER_S = 0.002  # time to wait for more credit
STARVED_S = 0.05  # delay while the connection's other Senders hold all bytes


class FetchingSender(SenderContext, Protocol):
    """The part of ``Gets`` that fetches use."""

    settling: Settling


class Looking:
    """The fetches of one Sender."""

    def __init__(self, gets: FetchingSender, *, chooses: bool) -> None:
        self.gets = gets
        self.queue_id = gets.queue_id
        self.chooses = chooses
        self.client = gets.client
        self.listener = gets.client.listener
        self.endpoint = gets.endpoint
        self.held = gets.held
        self.window = 0  # the largest credit so far
        self.typical = UNKNOWN_BYTES  # typical size of a message, in bytes
        self.seen = 0  # version of the queue at the last fetch
        self.is_looking = False
        self.was_draining = False  # the client was draining when the last fetch began
        self.is_asleep = False
        self.is_over = False
        self.timer: asyncio.TimerHandle | None = None

    @property
    def may_look(self) -> bool:
        """Whether a fetch may start. It must wait while entries are being given back,
        as these entries come before entries that are not fetched yet."""
        is_busy = self.is_looking or self.gets.settling.returning
        return not (self.is_over or is_busy or self.gets.is_blocked)

    def consider(self) -> None:
        """Fetch now, or after a short wait, or not at all."""
        if not self.may_look:
            return
        self.window = max(self.window, self.endpoint.credit)
        limit = self.wanted()
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

    def wanted(self) -> int:
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
        limit = 0 if self.is_asleep or not self.may_look else self.wanted()
        if limit > 0:
            self.take(limit)

    def take(self, limit: int) -> None:
        self.is_looking, self.is_asleep = True, False
        self.was_draining = self.endpoint.drain
        self.seen = notifications.version(self.queue_id)
        hidden = set(self.held.hidden)
        now, take = self.listener.now(), self.gets.taker.take
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
            self.gets.failed(error)
            return
        taken = future.result()
        self.held.take(taken.entries)
        self.gets.hide(taken.unfit)
        if self.is_over:
            self.gets.go_on()
            return
        self.listener.waking.looked(self, self.seen, found=taken.count > 0)
        self.learn(taken.entries)
        self.gets.settling.release(self.held.pass_by())
        self.gets.dispatch()
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
        elif self.wanted() < 1:
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

    def stop(self) -> None:
        """Start no more fetches. A running one is completed."""
        self.is_over = True
        if self.timer is not None:
            self.timer.cancel()
        self.listener.waking.leave(self)
