"""Sending to one destination, and the provider's outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from uuid import uuid4

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.events import Disposed, Event
from broker.bridges.providers.amqp.attachment import Attachment
from broker.bridges.providers.amqp.wire import Wire

CHUNK_BYTES = 262_144  # bytes given to the engine before a write to the socket
TAG_BYTES = 8
OUTCOMES = (
    *("amqp:accepted:list", "amqp:rejected:list"),
    *("amqp:released:list", "amqp:modified:list"),
)


class Outbox:
    """Sends messages, and waits until the provider has settled all of them.

    Args:
        wire: the connection.
        target: the target at the provider.
        what: the target's name, for people.

    Raises:
        WrongFactory: the provider refuses it permanently.
        ProviderLost: the connection broke, or it refuses for now.
    """

    def __init__(self, wire: Wire, target: p.Target | p.Coordinator, what: str) -> None:
        self.wire = wire
        self.what = what
        self.sender = wire.session.sender(
            f"backout-{uuid4().hex}",
            p.Source(outcomes=OUTCOMES),
            target,
            snd_settle_mode=0,
        )
        self.sent = 0  # number of all messages sent
        # Final states by the caller's message number; None: no state.
        self.states: dict[int, p.DeliveryState | None] = {}
        self.attachment = Attachment(wire, self.sender, what, self.handle_event)
        self.attachment.begin()

    def handle_event(self, event: Event) -> None:
        """Note the outcomes of messages; credit needs no handling here."""
        if not isinstance(event, Disposed):
            return
        if not event.settled:
            if event.state is None or isinstance(event.state, p.Received):
                return  # the state is not final yet
            self.wire.session.settle(event.deliveries, event.state)
        for delivery in event.deliveries:
            self.states[delivery.context] = event.state

    def send(
        self,
        payloads: Iterable[tuple[int, bytes]],
        state: p.DeliveryState | None = None,
    ) -> Mapping[int, p.DeliveryState | None]:
        """Send messages in order; each has a number chosen by the caller.

        Args:
            state: the state to send with each, as that of a transaction.

        Returns:
            The provider's final state of each, by number.

        Raises:
            WrongFactory, ProviderLost: the provider has ended it; some may be sent.
        """
        self.states = {}
        unwritten = 0
        for number, payload in payloads:
            self.wait_for_room()
            self.sent += 1
            tag = self.sent.to_bytes(TAG_BYTES, "big")
            self.sender.send(payload, tag=tag, state=state).context = number
            unwritten += len(payload)
            if unwritten >= CHUNK_BYTES:
                self.wire.flush()
                unwritten = 0
        self.wait_for_states()
        return self.states

    def wait_for_room(self) -> None:
        """Wait until there is credit, and the session's window is open."""
        sender, session = self.sender, self.wire.session
        if not (sender.credit and session.can_send):
            self.wire.until(
                lambda: self.attachment.end or (sender.credit and session.can_send),
                f"give credit to send to {self.what} (is it full?)",
            )
        self.attachment.check()

    def wait_for_states(self) -> None:
        """Wait until all messages are settled; the time-out starts again with each
        progress."""
        while count := len(self.sender.unsettled):
            self.wire.until(
                partial(self.is_fewer, count),
                f"settle the messages sent to {self.what}",
            )
            self.attachment.check()

    def is_fewer(self, count: int) -> bool:
        """Whether fewer messages are unsettled than before, or the link has ended."""
        return self.attachment.end is not None or len(self.sender.unsettled) < count
