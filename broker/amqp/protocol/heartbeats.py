"""Idle time-outs of both sides, and heartbeats.

Source: AMQP 1.0, part 2, section 2.4.5.
"""

from __future__ import annotations

from math import inf

PARTS = 4  # checks for silence during one time-out
LEAST_S = 0.25  # shortest time between heartbeats, however short the peer's time-out is


class Heartbeats:
    """The idle time-outs of a connection. The caller gives the time.

    Bytes received or sent since the last ``look`` count as of the next one, so the
    message path needs no clock.

    Args:
        allowed_ms: longest silence of the peer; None: no limit.

    Attributes:
        heard, spoken: bytes were received, or sent, since the last look.
    """

    def __init__(self, allowed_ms: int | None) -> None:
        self.allowed_s = allowed_ms / 1000 if allowed_ms else inf
        self.owed_s = inf
        self.heard = self.spoken = True
        self.heard_at = self.spoken_at = -inf

    def owe(self, idle_time_out_ms: int | None) -> None:
        """Set the longest silence that the peer accepts from us; None or 0: no
        limit."""
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
        """Time of the next check, in seconds of the same clock; infinity for never."""
        until_lost = self.heard_at + self.allowed_s - now_s
        until_due = self.spoken_at + self.owed_s - now_s
        part = min(self.allowed_s, self.owed_s) / PARTS
        return now_s + min(part, until_lost, until_due)
