"""The consuming end at one destination.

At most ``prefetch`` messages are under way: asked for, waiting here, or received and
not settled. They are settled in ranges, as they come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import monotonic

from broker.amqp.protocol import events
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.bridges.providers.amqp.attachment import Attachment
from broker.bridges.providers.amqp.messages import inbound
from broker.bridges.providers.amqp.returning import give_back
from broker.bridges.providers.amqp.transactions import Transactions
from broker.bridges.providers.amqp.wire import Wire
from broker.bridges.providers.interface import Destination, Lag, Received
from broker.errors.bridges import ProviderLost


class AmqpSubscription:
    """See ``interface.Subscription``.

    Args:
        wire: on which it is.
        transactions: of the same connection.
        begin: writes the attach of an endpoint for it.
        source: where from.
        prefetch: messages under way at most.
        is_durable: whether the provider keeps messages while nobody is connected.

    Raises:
        WrongFactory, ProviderLost: see ``interface.Session.subscribe``.
    """

    def __init__(
        self,
        wire: Wire,
        transactions: Transactions,
        begin: Callable[[], Receiver],
        source: Destination,
        *,
        prefetch: int,
        is_durable: bool,
    ) -> None:
        self.wire = wire
        self.transactions = transactions
        self.begin = begin
        self.source = source
        self.prefetch = prefetch
        self.is_durable = is_durable
        self.waiting: deque[tuple[Delivery, datetime]] = deque()
        self.attach()

    def attach(self) -> None:
        self.receiver = self.begin()
        self.attachment = Attachment(
            self.wire, self.receiver, str(self.source), self.told
        )
        self.attachment.begin()

    def told(self, event: events.Event) -> None:
        if isinstance(event, events.MessageReceived):
            self.waiting.append((event.delivery, datetime.now(UTC)))

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """As ``interface.Subscription.receive``.

        With a limit of 0 it keeps the connection alive for so long, as a link needs it
        that is paused: then nothing more comes, and what waits here goes back.
        """
        deadline = monotonic() + wait_s
        self.attachment.check()
        if limit:
            self.ask()
        elif wait_s > 0 and (self.receiver.credit or self.waiting):
            give_back(self, [], p.Released())
        self.wire.pump()
        while not (limit and self.waiting) and (left := deadline - monotonic()) > 0:
            self.wire.pump(left)
            self.attachment.check()
        self.attachment.check()
        taken = [self.waiting.popleft() for _ in range(min(limit, len(self.waiting)))]
        counts = not self.wire.is_rabbitmq
        return [
            inbound(delivery, self.source, came_at, counts=counts)
            for delivery, came_at in taken
        ]

    def ask(self) -> None:
        """Let the provider send, once half of what may be under way is not.

        RabbitMQ sends more than it may where credit comes while messages are under way
        (3.10), so that it gets some when all of it is used.
        """
        if self.wire.is_rabbitmq and self.receiver.credit:
            return
        room = self.prefetch - len(self.receiver.unsettled)
        missing = room - self.receiver.credit
        is_idle = not (self.receiver.credit or self.waiting)
        if missing and (is_idle or 2 * missing >= self.prefetch):
            self.receiver.grant(room)

    def acknowledge(self, received: Sequence[Received]) -> None:
        """As ``interface.Subscription.acknowledge``: once it is written, since AMQP has
        no answer to it."""
        self.attachment.check()
        accepted = p.Accepted()
        state = self.transactions.state(accepted) or accepted
        self.wire.session.settle([one.handle for one in received], state)
        self.wire.flush()

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """As ``interface.Subscription.release``.

        What waits here goes back, too: it came later, and is to come later again.
        """
        self.attachment.check()
        state = p.Modified(delivery_failed=True) if failed else p.Released()
        give_back(self, [one.handle for one in received], state)

    def give_back(self) -> None:
        """Give all back that is not settled, as if nothing had come."""
        self.attachment.check()
        give_back(self, list(self.receiver.unsettled.values()), p.Released())

    def renew(self) -> None:
        """Consume anew, as another consumer; what was not settled went back before."""
        self.attachment.detach(closed=not self.is_durable)
        self.waiting.clear()
        self.attach()

    def lag(self) -> Lag | None:
        """AMQP has no word for it."""
        return None

    def close(self) -> None:
        """RabbitMQ keeps what was not settled until the session ends."""
        try:
            if self.wire.is_rabbitmq and self.attachment.end is None:
                self.give_back()
            self.attachment.detach(closed=not self.is_durable)
        except ProviderLost:  # it has all again
            return
