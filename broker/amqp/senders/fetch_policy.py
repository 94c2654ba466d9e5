"""Looking at a queue for what a client has credit for: when, and for how much.

One look runs at a time. Clients give credit one by one, too; a look waits a little for
more of it while the client has something to do. Where nothing is left, it waits until
something comes (``waking``).
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

MOST = 500  # entries that one look takes
MOST_BYTES = 8 * 2**20  # that it takes, by what it took before
UNKNOWN_BYTES = 128 * 2**10  # of a message, before anything was taken
TOGETHER_S = 0.002  # how long little credit waits for more
STARVED_S = 0.05  # before a look at what the connection's other Senders hold


class FetchingSender(SenderContext, Protocol):
    """The ``Gets`` whose looks these are."""

    settling: Settling


class Looking:
    """The looks of one Sender."""

    def __init__(self, gets: FetchingSender, *, chooses: bool) -> None:
        self.gets = gets
        self.queue_id = gets.queue_id
        self.chooses = chooses
        self.client = gets.client
        self.listener = gets.client.listener
        self.endpoint = gets.endpoint
        self.held = gets.held
        self.window = 0  # the largest credit so far
        self.typical = UNKNOWN_BYTES  # of a message
        self.seen = 0  # the version of the queue at the last look
        self.is_looking = False
        self.was_draining = False  # when the last look began
        self.is_asleep = False
        self.is_over = False
        self.timer: asyncio.TimerHandle | None = None

    @property
    def may_look(self) -> bool:
        """Whether a look would not be in vain, nor out of turn: what is going back
        comes before what was not taken yet."""
        is_busy = self.is_looking or self.gets.settling.returning
        return not (self.is_over or is_busy or self.gets.is_blocked)

    def consider(self) -> None:
        """Look at the queue if that is worth it now; or soon; or never."""
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
        """How many entries a look may take now.

        What the client's other Senders hold does not keep this one from going on, one
        by one.
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
        """Little credit has waited long enough."""
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
        """A look is over."""
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
        """There is nothing more at present: say so, or wait until there is."""
        if self.endpoint.drain:
            if self.was_draining:
                self.say_drained()
            else:  # what was put before the client asked may have come since
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
        """Something may have come; called by ``Waking``."""
        self.is_asleep = False
        self.consider()
        if not self.is_looking:
            self.listener.waking.leave(self)

    def choose(self) -> None:
        """From now on it leaves something to others: it waits in another line."""
        if not self.chooses:
            self.listener.waking.leave(self)
            self.is_asleep = False
            self.chooses = True

    def stop(self) -> None:
        """Look no more. A look that runs comes to its end."""
        self.is_over = True
        if self.timer is not None:
            self.timer.cancel()
        self.listener.waking.leave(self)
