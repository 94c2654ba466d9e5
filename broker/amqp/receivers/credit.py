"""Credit of clients that put: limits of unanswered messages and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

NARROWEST = 4  # smallest window, in messages, while a queue is full
# Delay before the broker tries again to give credit that it could not give.
HELD_UP_S = 0.25
MOST_BYTES = 32 * 2**20  # most unanswered bytes of one client; above it, reading pauses
MOST_WAITING_BYTES = 256 * 2**20  # most unanswered bytes of all clients


class Credit:
    """The credit of one receiver.

    Credit and unanswered messages together are at most the window. An answer makes
    room; a flow frame is sent once there is room for half of the window.
    """

    def __init__(self, client: Client, endpoint: Receiver) -> None:
        self.client = client
        self.endpoint = endpoint
        self.window = client.limits.put_credit
        self.used = 0  # messages that are not answered yet
        self.is_held_up = False
        self.is_over = False  # the endpoint has ended

    def use(self, deliveries: Sequence[Delivery]) -> None:
        """Count received messages. Pause reading from a client that has put too many
        bytes."""
        self.used += len(deliveries)
        for delivery in deliveries:
            delivery.context = len(delivery.payload)
            self.client.put_bytes += delivery.context
        if self.client.put_bytes > MOST_BYTES or self.is_crowded():
            self.client.hearing.hold("puts")

    def free(self, deliveries: Sequence[Delivery]) -> None:
        """Uncount messages that are answered."""
        self.used -= len(deliveries)
        self.client.put_bytes -= sum(delivery.context for delivery in deliveries)
        left = self.client.put_bytes
        if not left or (left <= MOST_BYTES // 2 and not self.is_crowded()):
            self.client.hearing.release("puts")

    def is_crowded(self) -> bool:
        listener = self.client.listener
        waiting = listener.puts.waiting_bytes + listener.large_puts.waiting_bytes
        return waiting > MOST_WAITING_BYTES

    def narrow(self) -> None:
        """Reduce the window, as a queue is full."""
        self.window = max(self.window // 4, min(NARROWEST, self.window))

    def widen(self) -> None:
        """Enlarge the window again, as a message was stored."""
        self.window = min(self.window * 2, self.client.limits.put_credit)

    def give(self) -> None:
        """Grant credit for the free room, if it is worth a frame."""
        if self.is_over:
            return
        room = max(self.window - self.used, 0)
        more = room - self.endpoint.credit
        if more < 0:
            self.endpoint.grant(room)
        elif more >= max(self.window // 2, 1):
            if self.client.stopping or self.client.listener.puts.away:
                self.hold_up()
            else:
                self.endpoint.grant(room)

    def hold_up(self) -> None:
        """Try again to give credit, after ``HELD_UP_S``."""
        if not self.is_held_up:
            self.is_held_up = True
            loop = self.client.listener.loop
            loop.call_later(HELD_UP_S, self.client.guard, self.look_again)

    def look_again(self) -> None:
        self.is_held_up = False
        self.give()
        self.client.flush()
