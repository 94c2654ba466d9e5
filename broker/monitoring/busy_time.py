"""How busy consumers are: the share of the last minute in which they had a message."""

from __future__ import annotations

import threading
from collections import deque

WINDOW_S = 60.0
STEP_S = 10.0  # the share is computed anew after this time


class BusyTime:
    """The time that the sessions of one consumer spend with messages. Thread-safe.

    Args:
        sessions: how many messages, or batches, the consumer can work on at once.
        now_s: the time of a clock that only advances, in seconds; as in each call.
    """

    def __init__(self, sessions: int, now_s: float) -> None:
        self.sessions = sessions
        self.lock = threading.Lock()
        self.at_work = 0  # sessions that have a message now
        self.worked_s = 0.0  # time at work until ``at_s``, of all sessions together
        self.at_s = now_s
        # A time, and ``worked_s`` at that time; one for each step of the window.
        self.marks = deque([(now_s, 0.0)])
        self.share: float | None = None

    def change(self, by: int, now_s: float) -> None:
        """Note that sessions begin to work (1), or end (-1)."""
        with self.lock:
            self.advance(now_s)
            self.at_work += by

    def hold(self, at_work: int, now_s: float) -> None:
        """Note how many sessions have a message now."""
        with self.lock:
            self.advance(now_s)
            self.at_work = at_work

    def advance(self, now_s: float) -> None:
        self.worked_s += self.at_work * (now_s - self.at_s)
        self.at_s = now_s

    def percent(self, now_s: float) -> int | None:
        """The share of the sessions' time, from 0 to 100, up to ten seconds old; None
        in the first ten seconds."""
        with self.lock:
            self.advance(now_s)
            if now_s - self.marks[-1][0] >= STEP_S:
                since_s, worked_s = self.marks[0]
                whole_s = (now_s - since_s) * self.sessions
                self.share = (self.worked_s - worked_s) / whole_s
                self.marks.append((now_s, self.worked_s))
                while now_s - self.marks[0][0] >= WINDOW_S:
                    self.marks.popleft()
            return None if self.share is None else round(100 * self.share)
