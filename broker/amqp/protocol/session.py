"""A session on one channel: windows, links, deliveries and their settlement.

Source: AMQP 1.0, part 2, sections 2.5 and 2.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from broker.amqp.protocol import conditions, dispositions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.events import (
    Disposed,
    Drained,
    Ended,
    Event,
    Flowed,
    MessageReceived,
    Resumed,
)
from broker.amqp.protocol.link_handles import Handles
from broker.amqp.protocol.performatives import (
    Attach,
    Begin,
    Coordinator,
    DeliveryState,
    Detach,
    Disposition,
    End,
    Flow,
    Performative,
    Source,
    Target,
    Transfer,
)
from broker.amqp.protocol.send_queue import Outlet
from broker.amqp.protocol.types.serial_numbers import HALF, MASK, ahead

if TYPE_CHECKING:
    from broker.amqp.protocol.connection import Connection

E = TypeVar("E", bound=Endpoint)

# The window that we announce, in frames. It limits nothing: we send no more than the
# peer's window allows.
OUTGOING_WINDOW = HALF - 1


class Session:
    """One session of a connection.

    Attributes:
        channel: our channel number; ``remote_channel`` is the peer's.
        begin: the peer's begin; None until it answers ours.
        active: begun by us, and not ended by either side.
        room: frames that the peer may still send.
        incoming, outgoing: unsettled deliveries by id, in both directions.
        context: free for the caller.
    """

    def __init__(self, connection: Connection, channel: int, first_id: int) -> None:
        self.connection = connection
        self.channel = channel
        self.remote_channel: int | None = None
        self.begin: Begin | None = None
        self.active = True
        self.told = False  # whether the event Ended was given, or is not needed
        self.window = connection.limits.incoming_window
        self.room = self.window
        self.half = self.window >> 1
        self.next_incoming_id: int | None = None
        self.next_delivery_id = first_id
        self.outlet = Outlet(connection.out, first_id)
        self.handles = Handles(self)
        self.most_unsettled = connection.limits.unsettled_incoming
        self.incoming: dict[int, Delivery] = {}
        self.outgoing: dict[int, Delivery] = {}
        self.context: Any = None
        self.actions: dict[type, Callable[[Any], None]] = {
            Attach: self.handles.attached,
            Flow: self.on_flow,
            Disposition: self.on_disposition,
            Detach: self.handles.detached,
        }

    @property
    def can_send(self) -> bool:
        """Whether the peer's window is open, and no frame waits for it."""
        return self.active and self.begin is not None and self.outlet.is_open

    def endpoints(self) -> list[Endpoint]:
        """The endpoints that are not gone; they stay listed after the session's end."""
        return list(self.handles.live)

    def sender(
        self,
        name: str,
        source: Source | None,
        target: Target | Coordinator | None,
        **fields: Any,
    ) -> Sender:
        """Attach a sender; the peer's answer gives the event ``Attached``.

        Args:
            fields: further fields of ``performatives.Attach``.

        Raises:
            ValueError: there is a sender of this name.
        """
        return self.attach(Sender(self, name), source, target, fields)

    def receiver(
        self,
        name: str,
        source: Source | None,
        target: Target | Coordinator | None,
        **fields: Any,
    ) -> Receiver:
        """Attach a receiver; arguments as for ``sender``. ``grant`` may be called at
        once."""
        return self.attach(Receiver(self, name), source, target, fields)

    def attach(
        self,
        endpoint: E,
        source: Source | None,
        target: Target | Coordinator | None,
        fields: dict[str, Any],
    ) -> E:
        self.handles.add(endpoint)
        endpoint.source, endpoint.target = source, target
        counts = endpoint.counting(
            fields.pop("initial_delivery_count", 0),
            fields.pop("max_message_size", None),
        )
        self.handles.answer(endpoint, **counts, **fields)
        return endpoint

    def settle(
        self,
        deliveries: Iterable[Delivery],
        state: DeliveryState | None,
        *,
        settled: bool = True,
    ) -> None:
        """Send the state of deliveries, in as few frames as their ids allow.

        Settled deliveries, and those of endpoints that are gone, are left out.

        Args:
            deliveries: deliveries of this session, in any order and both directions.
            state: the state of all of them.
            settled: whether this settles them.
        """
        if not self.active:
            return
        for held, role in ((self.incoming, True), (self.outgoing, False)):
            ours = [one for one in deliveries if held.get(one.id) is one]
            if ours:
                self.dispose(held, ours, role=role, state=state, settled=settled)

    def dispose(
        self,
        held: dict[int, Delivery],
        deliveries: list[Delivery],
        *,
        role: bool,
        state: DeliveryState | None,
        settled: bool,
    ) -> None:
        for first, last in dispositions.ranges([one.id for one in deliveries]):
            until = None if last == first else last
            self.emit(Disposition(role, first, until, settled, state))
        if settled:
            dispositions.forget(held, deliveries)

    def end(self, error: AmqpError | None = None) -> None:
        """End the session and its endpoints; the peer's answer gives ``Ended``."""
        if self.active:
            self.emit(End(None if error is None else error.as_error()))
            self.stop()

    def fail(self, error: AmqpError) -> None:
        """End because of the peer's error, and add the event ``Ended``."""
        if self.active:
            self.end(error)
            self.told = True
            self.tell(Ended(self, error.as_error()))

    def stop(self) -> None:
        """Mark the session as over; nothing is sent or received any more."""
        self.active = False
        self.outlet.waiting.clear()
        for endpoint in self.handles.live:
            endpoint.leave()
        self.connection.links -= self.handles.count

    def answered_by(self, channel: int, begin: Begin) -> None:
        """Apply the peer's begin."""
        self.remote_channel, self.begin = channel, begin
        self.next_incoming_id = begin.next_outgoing_id
        self.outlet.room = begin.incoming_window

    # Calls to the connection.

    def tell(self, event: Event) -> None:
        self.connection.events.append(event)

    def emit(self, performative: Performative) -> None:
        if self.active:
            self.connection.emit(self.channel, performative)

    # Frames from the peer.

    def transfer(self, part: Transfer, payload: bytes) -> None:
        """Handle a transfer frame."""
        if not self.active:
            return
        if not self.room:
            self.fail(AmqpError(conditions.WINDOW_VIOLATION, "the window is shut"))
            return
        endpoint = self.handles.by_remote.get(part.handle)
        if endpoint is None:
            self.unattached(part.handle)
            return
        self.room -= 1
        self.next_incoming_id = ((self.next_incoming_id or 0) + 1) & MASK
        if self.room == self.half:
            self.connection.narrow.append(self)
        endpoint.transfer(part, payload)

    def receive(self, performative: Performative) -> None:
        """Handle an attach, flow, disposition or detach."""
        if self.active:
            self.actions[type(performative)](performative)

    def received(self, delivery: Delivery, receiver: Receiver) -> None:
        """Note a complete message, and add its event."""
        if not delivery.settled:
            number, held = delivery.id, self.incoming
            if number in held or len(held) >= self.most_unsettled:
                self.fail(self.fault(number))
                return
            held[number] = receiver.unsettled[number] = delivery
        self.connection.events.append(MessageReceived(receiver, delivery))

    def drained(self, receiver: Receiver) -> None:
        """Add the event that a Receiver's credit was given back."""
        self.connection.events.append(Drained(receiver))

    def flowed(self, sender: Sender) -> None:
        """Add the event that the peer sent a flow for a Sender."""
        self.connection.events.append(Flowed(sender))

    def fault(self, number: int) -> AmqpError:
        if number in self.incoming:
            error = f"delivery {number} is not settled yet"
            return AmqpError(conditions.NOT_ALLOWED, error)
        error = "too many deliveries are not settled"
        return AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, error)

    def on_flow(self, flow: Flow) -> None:
        resumed = self.outlet.widen(flow.next_incoming_id, flow.incoming_window)
        if flow.handle is None:
            if flow.echo:
                self.send_flow()
        else:
            endpoint = self.handles.by_remote.get(flow.handle)
            if endpoint is None:
                self.unattached(flow.handle)
                return
            if not endpoint.gone:
                endpoint.flow(flow)
        if resumed:
            self.tell(Resumed(self))

    def widen(self) -> None:
        """Reopen our window if the peer has used half of it."""
        if self.active and self.room <= self.half:
            self.send_flow()

    def send_flow(
        self, endpoint: Endpoint | None = None, *, echo: bool = False
    ) -> None:
        """Send our windows, and the state of an endpoint; reopens our window fully."""
        self.room = self.window
        flow = Flow(
            next_incoming_id=self.next_incoming_id,
            incoming_window=self.window,
            next_outgoing_id=self.outlet.next_id,
            outgoing_window=OUTGOING_WINDOW,
        )
        if endpoint is not None:
            flow.handle = endpoint.handle
            flow.delivery_count, flow.link_credit = endpoint.standing()
            flow.drain = endpoint.drain
            flow.echo = echo
        self.emit(flow)

    def on_disposition(self, said: Disposition) -> None:
        last = said.first if said.last is None else said.last
        if ahead(last, said.first) < 0:
            error = f"deliveries {said.first} to {last}"
            self.fail(AmqpError(conditions.INVALID_FIELD, error))
            return
        held = self.outgoing if said.role else self.incoming
        found = dispositions.within(held, said.first, last)
        if said.settled:
            dispositions.forget(held, found)
        if said.role:
            self.disposed(found, said.state, settled=said.settled)

    def disposed(
        self, found: list[Delivery], state: DeliveryState | None, *, settled: bool
    ) -> None:
        for delivery in found:
            delivery.state = state
        for endpoint, deliveries in dispositions.by_endpoint(found).items():
            self.tell(Disposed(endpoint, deliveries, state, settled))

    def unattached(self, handle: int) -> None:
        error = f"handle {handle} is not attached"
        self.fail(AmqpError(conditions.UNATTACHED_HANDLE, error))
