"""Silence: how long the peer may keep it, and how long we may.

Source: AMQP 1.0, part 2, section 2.4.5.
"""

from __future__ import annotations

from math import inf

PARTS = 4  # of a time-out, after each of which the clock is looked at
LEAST_S = 0.25  # nothing is written more often, whatever the peer asks


class Heartbeats:
    """Both silences of a connection. Time is told; nothing here looks at a clock.

    What was heard or said since the last look counts as of that look, so that the
    paths of messages need no clock.

    Args:
        allowed_ms: of silence; None allows any.

    Attributes:
        heard, spoken: something came in, or went out, since the last look.
    """

    def __init__(self, allowed_ms: int | None) -> None:
        self.allowed_s = allowed_ms / 1000 if allowed_ms else inf
        self.owed_s = inf
        self.heard = self.spoken = True
        self.heard_at = self.spoken_at = -inf

    def owe(self, idle_time_out_ms: int | None) -> None:
        """The peer allows so much silence; None or 0 allow any."""
        if idle_time_out_ms:
            self.owed_s = max(LEAST_S, idle_time_out_ms / 1000 / 2)

    def look(self, now_s: float) -> None:
        if self.heard:
            self.heard, self.heard_at = False, now_s
        if self.spoken:
            self.spoken, self.spoken_at = False, now_s

    def is_lost(self, now_s: float) -> bool:
        return now_s - self.heard_at >= self.allowed_s

    def is_due(self, now_s: float) -> bool:
        return now_s - self.spoken_at >= self.owed_s

    def next_look(self, now_s: float) -> float:
        """When to look again, in seconds of the same clock; infinity for never."""
        until_lost = self.heard_at + self.allowed_s - now_s
        until_due = self.spoken_at + self.owed_s - now_s
        part = min(self.allowed_s, self.owed_s) / PARTS
        return now_s + min(part, until_lost, until_due)
