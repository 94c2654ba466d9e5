"""The lookout: of the idle sessions of a handler, one looks for messages.

The others rest, and cost nothing. If all of them looked, each message would wake all,
and each would ask the database, mostly in vain. A session that finds messages gives the
lookout to one that rests, and goes to work. Sessions that commit in groups get as many
messages by one statement as there are idle sessions; so nothing is held that no session
works on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue

from broker.queueing import notifications
from broker.queueing.get import Delivery


class Lookout:
    """Shared by the sessions of a handler in this process.

    The session that is on it may use its attributes.

    Attributes:
        seen: the version of the queue at which nothing was there (``notifications``).
        until_s: when to look again, whatever the version, by this machine's clock.
    """

    def __init__(self, queue_id: int) -> None:
        self.queue_id = queue_id
        self.lock = threading.Lock()
        self.is_taken = False
        self.resting: deque[SimpleQueue[list[Delivery]]] = deque()
        self.seen = -1
        self.until_s = 0.0

    def take(self) -> list[Delivery]:
        """Rest until this session is on the lookout; or until another one has found a
        message for it, which is returned."""
        with self.lock:
            if not self.is_taken:
                self.is_taken = True
                return []
            mine: SimpleQueue[list[Delivery]] = SimpleQueue()
            self.resting.append(mine)
        return mine.get()

    def idle(self) -> int:
        """The number of idle sessions; more may come, but none goes."""
        return 1 + len(self.resting)

    def share(self, deliveries: Sequence[Delivery]) -> None:
        """Give each of these to a session that rests."""
        for delivery in deliveries:
            self.resting.popleft().put([delivery])

    def leave(self) -> None:
        """Give the lookout to a session that rests."""
        with self.lock:
            self.is_taken = bool(self.resting)
            if self.resting:
                self.resting.popleft().put([])

    def note_empty(self, seen: int, longest_s: float) -> None:
        """Note that nothing was there.

        Args:
            seen: the version before the look.
            longest_s: the time until an entry is due.
        """
        self.seen = seen
        self.until_s = time.monotonic() + min(longest_s, notifications.POLL_S)

    def left_s(self) -> float:
        """How long it is known that nothing is there, unless something comes."""
        if self.seen != notifications.version(self.queue_id):
            return 0.0
        return self.until_s - time.monotonic()
