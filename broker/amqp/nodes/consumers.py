"""The consumers of this process, by queue; for the loop's thread."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from weakref import WeakValueDictionary

from broker.amqp.senders.sender import Gets

LONGEST_S = 5.0  # longest wait for another consumer to end


class Consumers:
    """The consumers that have not ended, by queue."""

    def __init__(self) -> None:
        self.known: dict[int, set[Gets]] = defaultdict(set)
        self.endings: set[tuple[object, asyncio.Future[None]]] = set()
        self.locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    def lock(self, name: object) -> asyncio.Lock:
        """The lock to hold while a consumer of this name starts or ends."""
        return self.locks.setdefault(name, asyncio.Lock())

    @property
    def busy(self) -> frozenset[int]:
        """The queues that have consumers."""
        return frozenset(self.known)

    def enter(self, gets: Gets) -> None:
        self.known[gets.queue_id].add(gets)

    def leave(self, gets: Gets) -> None:
        """Remove a consumer that has ended or was refused. May be called twice."""
        others = self.known.get(gets.queue_id, set())
        others.discard(gets)
        if not others:
            self.known.pop(gets.queue_id, None)

    def wait_for(self, client: object, ending: asyncio.Future[None]) -> None:
        """Make the client's next attaches wait for this ending."""
        pair = (client, ending)
        self.endings.add(pair)
        ending.add_done_callback(lambda _: self.endings.discard(pair))

    async def gone(self, client: object) -> None:
        """Wait until the client's ended consumers hold no messages."""
        until = time.monotonic() + LONGEST_S
        while parting := [one for whose, one in self.endings if whose is client]:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            await asyncio.wait(parting, timeout=left_s)
