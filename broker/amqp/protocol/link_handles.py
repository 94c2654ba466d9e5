"""The endpoints of a session: attach, handles and detach.

Source: AMQP 1.0, part 2, sections 2.6.1 to 2.6.6.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.events import Attached, Detached
from broker.amqp.protocol.performatives import Attach, Detach

if TYPE_CHECKING:
    from broker.amqp.protocol.session import Session

# Links above the limit are refused. If a connection has this many times the limit, the
# next attach ends its session.
REFUSALS = 2


class Handles:
    """Endpoints of a session, by handle and by name.

    Attributes:
        by_remote: endpoints by the peer's handle, from its attach until its detach.
        named: endpoints by name and our role. One that is gone is removed, unless the
            peer has not answered our attach yet.
        live: endpoints that are not gone, in the order of their attaches.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.by_remote: dict[int, Endpoint] = {}
        self.named: dict[tuple[str, bool], Endpoint] = {}
        self.live: dict[Endpoint, None] = {}
        self.count = 0  # endpoints that are not yet detached by both sides
        self.next = 0
        self.free: list[int] = []  # free handles that are lower than ``next``

    def add(self, endpoint: Endpoint) -> None:
        """Add an endpoint.

        Raises:
            ValueError: there is an endpoint of this name and role already.
        """
        key = endpoint.name, endpoint.role
        if key in self.named:
            raise ValueError(f"{endpoint.name} is attached")
        self.named[key] = endpoint
        self.live[endpoint] = None
        self.count += 1
        self.session.connection.links += 1

    def answer(self, endpoint: Endpoint, **fields: Any) -> None:
        """Send our attach: the first attach, or the answer to the peer's attach."""
        endpoint.handle = self.take()
        endpoint.answered = True
        begin = self.session.begin
        if begin is not None and endpoint.handle > begin.handle_max:
            error = f"handle {endpoint.handle} is above the peer's handle-max"
            self.session.fail(AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, error))
        attach = Attach(
            endpoint.name,
            endpoint.handle,
            endpoint.role,
            source=endpoint.source,
            target=endpoint.target,
            **fields,
        )
        self.session.emit(attach)
        if endpoint.is_echo_due:
            endpoint.echo()

    def take(self) -> int:
        if self.free:
            return heappop(self.free)
        self.next += 1
        return self.next - 1

    def detach(
        self, endpoint: Endpoint, *, closed: bool, error: AmqpError | None = None
    ) -> None:
        """Send our detach, unless the endpoint is gone.

        If our attach is not sent yet, it is sent first, with a null terminus: some
        clients take an attach with a terminus for success, whatever follows.
        """
        if endpoint.gone or not self.session.active:
            return
        if not endpoint.answered:
            if endpoint.role:
                endpoint.target = None
            else:
                endpoint.source = None
            endpoint.is_echo_due = False
            self.answer(endpoint, **endpoint.counting())
        why = None if error is None else error.as_error()
        self.session.emit(Detach(endpoint.handle, closed, why))
        self.drop(endpoint)

    def cast_off(self, endpoint: Endpoint, *, closed: bool, error: AmqpError) -> None:
        """Detach on the engine's initiative, and add the event ``Detached``."""
        if not endpoint.gone:
            self.detach(endpoint, closed=closed, error=error)
            endpoint.told = True
            self.session.tell(Detached(endpoint, closed, error.as_error()))

    def drop(self, endpoint: Endpoint) -> None:
        endpoint.leave()
        del self.live[endpoint]
        held = self.session.incoming if endpoint.role else self.session.outgoing
        for number in endpoint.unsettled:
            held.pop(number, None)
        if endpoint.attach is not None:
            del self.named[endpoint.name, endpoint.role]

    # Frames from the peer.

    def attached(self, attach: Attach) -> None:
        """Handle the peer's attach, which may answer ours."""
        if not self.may_use(attach.handle):
            return
        known = self.named.get((attach.name, not attach.role))
        if known is not None and known.attach is None:
            self.agree(known, attach)
            return
        for session in self.session.connection.sessions:
            session.handles.give_up(attach)
        self.welcome(attach)

    def give_up(self, attach: Attach) -> None:
        """Detach the endpoint whose name a newer attach of the connection takes over.

        A name and a role identify a link between two containers, whatever its session.
        """
        known = self.named.get((attach.name, not attach.role))
        if known is not None and known.attach is not None:
            error = AmqpError(conditions.STOLEN, "a newer attach has its name")
            self.cast_off(known, closed=False, error=error)

    def may_use(self, handle: int) -> bool:
        if handle >= self.session.connection.limits.handles:
            error = f"handle {handle} is above handle-max"
            raise AmqpError(conditions.FRAMING_ERROR, error)
        if handle in self.by_remote:
            error = f"handle {handle} is in use"
            self.session.fail(AmqpError(conditions.HANDLE_IN_USE, error))
            return False
        return True

    def agree(self, endpoint: Endpoint, attach: Attach) -> None:
        """Apply the peer's answer to our attach."""
        endpoint.answered_by(attach)
        self.by_remote[attach.handle] = endpoint
        if endpoint.gone:
            del self.named[endpoint.name, endpoint.role]
        else:
            self.session.tell(Attached(endpoint, attach))

    def welcome(self, attach: Attach) -> None:
        """Handle a new attach of the peer; refuse it if there are too many links."""
        connection = self.session.connection
        most = connection.limits.links
        error = AmqpError(conditions.RESOURCE_LIMIT_EXCEEDED, f"more than {most}")
        if connection.links >= REFUSALS * most:
            self.session.fail(error)
            return
        side = Sender if attach.role else Receiver
        endpoint = side(self.session, attach.name)
        self.add(endpoint)
        endpoint.answered_by(attach)
        self.by_remote[attach.handle] = endpoint
        if connection.links > most:
            endpoint.refuse(error)
        else:
            self.session.tell(Attached(endpoint, attach))

    def detached(self, detach: Detach) -> None:
        """Handle the peer's detach, which may answer ours."""
        endpoint = self.by_remote.pop(detach.handle, None)
        if endpoint is None:
            self.session.unattached(detach.handle)
            return
        self.detach(endpoint, closed=detach.closed)
        heappush(self.free, endpoint.handle)
        self.count -= 1
        self.session.connection.links -= 1
        if not endpoint.told:
            endpoint.told = True
            self.session.tell(Detached(endpoint, detach.closed, detach.error))
