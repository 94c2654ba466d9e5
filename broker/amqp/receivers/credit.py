"""How much a client may put ahead of what is answered, in messages and bytes."""

from __future__ import annotations

from collections.abc import Sequence

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.transactions.pending import TransactionClient

NARROWEST = 4  # messages at least, while a queue is full
HELD_UP_S = 0.25  # until credit is looked at again that could not be given
MOST_BYTES = 32 * 2**20  # of a client, not answered; above it nothing is read
MOST_WAITING_BYTES = 256 * 2**20  # the same of all clients


class Credit:
    """The credit of one endpoint by which a client puts.

    Its client may send as many messages as the window has room for besides those that
    are not answered yet. What is answered makes room, but credit is given when it is
    worth a frame: half of the window at once.
    """

    def __init__(self, client: TransactionClient, endpoint: Receiver) -> None:
        self.client = client
        self.endpoint = endpoint
        self.window = client.limits.put_credit
        self.used = 0  # by messages that are not answered
        self.is_held_up = False
        self.is_over = False  # the endpoint is

    def use(self, deliveries: Sequence[Delivery]) -> None:
        """Messages came. Read no more from a client that has put as much as we can
        hold for it."""
        self.used += len(deliveries)
        for delivery in deliveries:
            delivery.context = len(delivery.payload)
            self.client.put_bytes += delivery.context
        if self.client.put_bytes > MOST_BYTES or self.is_crowded():
            self.client.hearing.hold("puts")

    def free(self, deliveries: Sequence[Delivery]) -> None:
        """They are answered."""
        self.used -= len(deliveries)
        self.client.put_bytes -= sum(delivery.context for delivery in deliveries)
        left = self.client.put_bytes
        if not left or (left <= MOST_BYTES // 2 and not self.is_crowded()):
            self.client.hearing.release("puts")

    def is_crowded(self) -> bool:
        return self.client.listener.puts.waiting_bytes > MOST_WAITING_BYTES

    def narrow(self) -> None:
        """A queue is full: its client tries with less."""
        self.window = max(self.window // 4, min(NARROWEST, self.window))

    def widen(self) -> None:
        """Something was stored."""
        self.window = min(self.window * 2, self.client.limits.put_credit)

    def give(self) -> None:
        """Let the client send as much as there is room for, if it is worth a frame."""
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
        """Look again in a moment."""
        if not self.is_held_up:
            self.is_held_up = True
            loop = self.client.listener.loop
            loop.call_later(HELD_UP_S, self.client.guard, self.look_again)

    def look_again(self) -> None:
        self.is_held_up = False
        self.give()
        self.client.flush()
