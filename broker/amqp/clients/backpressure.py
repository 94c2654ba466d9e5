"""Reading from a socket, unless there is a reason not to."""

from __future__ import annotations

from asyncio import Transport
from typing import Literal

Reason = Literal["answers", "attaches", "login", "puts"]


class Hearing:
    """Whether a client is read; it is as long as nothing holds it.

    Reasons: it does not take our answers, has more attaches waiting than are worked
    on, has put more than can be stored at once, or is not known yet.
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
        """Whether a client that is not heard is alive all the same.

        We do not listen, but it waits for us, or took some of what is unsent since the
        last time this was asked.
        """
        unsent, before = self.transport.get_write_buffer_size(), self.unsent_bytes
        self.unsent_bytes = unsent
        if "answers" in self.reasons:
            return unsent < before
        return bool(self.reasons)
