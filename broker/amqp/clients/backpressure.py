"""Backpressure: pause reading from a client's socket while any reason holds."""

from __future__ import annotations

from asyncio import Transport
from typing import Literal

Reason = Literal["answers", "attaches", "login", "puts", "stop", "turn"]


class Hearing:
    """Pauses reading from one client while it is held for at least one reason.

    Reasons: the client does not read our answers; too many of its attaches wait; it
    has put more messages than can be stored at once; its login is being checked, or
    waits for its turn; the listener stops.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.reasons: set[Reason] = set()
        self.unsent_bytes = 0

    def hold(self, reason: Reason) -> None:
        self.reasons.add(reason)
        self.transport.pause_reading()

    def release(self, reason: Reason) -> None:
        if reason not in self.reasons:
            return
        self.reasons.discard(reason)
        if not self.reasons and not self.transport.is_closing():
            self.transport.resume_reading()

    def is_silence_ours(self) -> bool:
        """Whether a silent client must not be taken for dead.

        True while reading is paused. If reading is paused because the client does not
        read our answers, the client must have read some of them since the last call.
        """
        unsent, before = self.transport.get_write_buffer_size(), self.unsent_bytes
        self.unsent_bytes = unsent
        if "answers" in self.reasons:
            return unsent < before
        return bool(self.reasons)
