"""Subscription: consume from one destination.

At most ``prefetch`` messages are requested, waiting here, or received and unsettled.
Messages are settled in ranges.
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
        wire: the connection.
        transactions: the transactions of the same connection.
        begin: attaches a receiver for it.
        source: the source.
        prefetch: limit of requested, waiting and unsettled messages.
        is_durable: whether the provider keeps messages for it while it is not
            connected.

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
            self.wire, self.receiver, str(self.source), self.handle_event
        )
        self.attachment.begin()

    def handle_event(self, event: events.Event) -> None:
        if isinstance(event, events.MessageReceived):
            self.waiting.append((event.delivery, datetime.now(UTC)))

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """As ``interface.Subscription.receive``.

        With a limit of 0 it receives nothing and only keeps the connection alive, for a
        paused link: the flow is stopped, and waiting messages are given back.
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
        """Grant credit, once half of ``prefetch`` is free.

        RabbitMQ (3.10) exceeds its credit if more is granted while messages are in
        transfer; so it gets credit only when all of it is used.
        """
        if self.wire.is_rabbitmq and self.receiver.credit:
            return
        room = self.prefetch - len(self.receiver.unsettled)
        missing = room - self.receiver.credit
        is_idle = not (self.receiver.credit or self.waiting)
        if missing and (is_idle or 2 * missing >= self.prefetch):
            self.receiver.grant(room)

    def acknowledge(self, received: Sequence[Received]) -> None:
        """As ``interface.Subscription.acknowledge``. It returns after the write, as
        AMQP does not confirm it."""
        self.attachment.check()
        accepted = p.Accepted()
        state = self.transactions.state(accepted) or accepted
        self.wire.session.settle([one.handle for one in received], state)
        self.wire.flush()

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """As ``interface.Subscription.release``.

        Waiting messages are given back, too, to keep the order.
        """
        self.attachment.check()
        state = p.Modified(delivery_failed=True) if failed else p.Released()
        give_back(self, [one.handle for one in received], state)

    def give_back(self) -> None:
        """Give back all unsettled messages, without counting a backout."""
        self.attachment.check()
        give_back(self, list(self.receiver.unsettled.values()), p.Released())

    def renew(self) -> None:
        """Replace the consumer by a new one; its unsettled messages are given back."""
        self.attachment.detach(closed=not self.is_durable)
        self.waiting.clear()
        self.attach()

    def lag(self) -> Lag | None:
        """None: the lag is not available in AMQP."""
        return None

    def close(self) -> None:
        """Detach. RabbitMQ would hold unsettled messages until the session ends, so
        they are given back first."""
        try:
            if self.wire.is_rabbitmq and self.attachment.end is None:
                self.give_back()
            self.attachment.detach(closed=not self.is_durable)
        except ProviderLost:  # the provider has taken back all messages
            return
