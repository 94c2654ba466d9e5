"""Outgoing transfers of a session, held back while the peer's window is closed.

Source: AMQP 1.0, part 2, section 2.5.6.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker.amqp.protocol.types.serial_numbers import MASK, ahead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker.amqp.protocol.sending import Sender

    Bytes = bytes | memoryview


class Outlet:
    """Writes frames to ``out``, or keeps them until the window opens.

    Attributes:
        room: frames that the peer's window still allows.
        next_id: the transfer id of the next frame.
        waiting: frames held back, each as head and rest.
    """

    __slots__ = ("first_id", "next_id", "out", "room", "waiting")

    def __init__(self, out: list[Bytes], first_id: int) -> None:
        self.out = out
        self.room = 0
        self.first_id = first_id
        self.next_id = first_id
        self.waiting: deque[tuple[Sender, bytes, Sequence[Bytes], bool]] = deque()

    @property
    def is_open(self) -> bool:
        return self.room > 0 and not self.waiting

    def send(
        self,
        sender: Sender,
        head: bytes,
        rest: Sequence[Bytes],
        *,
        begins: bool,
    ) -> None:
        """Write one frame, or append it to the waiting ones.

        Args:
            begins: whether it is the first frame of a message.
        """
        if self.room > 0 and not self.waiting:
            self.write(head, rest)
        else:
            sender.kept += begins
            self.waiting.append((sender, head, rest, begins))

    def write(self, head: bytes, rest: Sequence[Bytes]) -> None:
        self.room -= 1
        self.next_id = (self.next_id + 1) & MASK
        self.out.append(head)
        self.out.extend(rest)

    def widen(self, next_incoming_id: int | None, window: int) -> bool:
        """Apply the peer's window, and write waiting frames that fit.

        Returns:
            Whether the outlet was closed, and is open now.
        """
        was_open = self.is_open
        seen = self.first_id if next_incoming_id is None else next_incoming_id
        self.room = max(0, window - max(0, ahead(self.next_id, seen)))
        while self.waiting and self.room:
            sender, head, rest, begins = self.waiting.popleft()
            self.write(head, rest)
            if begins:
                sender.let_out()
        return self.is_open and not was_open

    def forget(self, sender: Sender) -> None:
        """Discard the waiting frames of one sender."""
        if self.waiting:
            self.waiting = deque(frame for frame in self.waiting if frame[0] != sender)
