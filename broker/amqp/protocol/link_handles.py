"""The endpoints of a session: how they attach, by which numbers, and how they go.

Source: AMQP 1.0, part 2, sections 2.6.1 to 2.6.6.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, Protocol

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.events import Attached, Detached, Event
from broker.amqp.protocol.performatives import Attach, Detach
from broker.amqp.protocol.receiving import ReceiverSession
from broker.amqp.protocol.sending import SenderSession

REFUSALS = 2  # times the limit of endpoints may be asked for before the session ends


class HandlesSession(ReceiverSession, SenderSession, Protocol):
    """A ``Session``, as its handles know it."""

    def tell(self, event: Event) -> None: ...


class Handles:
    """Endpoints by the numbers and names that both sides have for them.

    Attributes:
        by_remote: by the peer's handle, from its attach until its detach.
        named: by name and our role; those that are gone are not among them, but for
            those whose attach the peer has not answered yet.
        live: those that are not gone, in the order they came.
    """

    def __init__(self, session: HandlesSession) -> None:
        self.session = session
        self.by_remote: dict[int, Endpoint] = {}
        self.named: dict[tuple[str, bool], Endpoint] = {}
        self.live: dict[Endpoint, None] = {}
        self.count = 0  # of all whose detaches are not both through
        self.next = 0
        self.free: list[int] = []  # handles below next

    def add(self, endpoint: Endpoint) -> None:
        """One more.

        Raises:
            ValueError: we have one of this name already.
        """
        key = endpoint.name, endpoint.role
        if key in self.named:
            raise ValueError(f"{endpoint.name} is attached")
        self.named[key] = endpoint
        self.live[endpoint] = None
        self.count += 1
        self.session.connection.links += 1

    def answer(self, endpoint: Endpoint, **fields: Any) -> None:
        """Send our attach: the first, or the answer to the peer's."""
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

    def take(self) -> int:
        if self.free:
            return heappop(self.free)
        self.next += 1
        return self.next - 1

    def detach(
        self, endpoint: Endpoint, *, closed: bool, error: AmqpError | None = None
    ) -> None:
        """Send our detach, unless it is gone.

        Where our attach is not sent yet, it goes before, with nothing at our end: some
        clients take an attach with a terminus for success, whatever follows.
        """
        if endpoint.gone or not self.session.active:
            return
        if not endpoint.answered:
            if endpoint.role:
                endpoint.target = None
            else:
                endpoint.source = None
            self.answer(endpoint, **endpoint.counting())
        why = None if error is None else error.as_error()
        self.session.emit(Detach(endpoint.handle, closed, why))
        self.drop(endpoint)

    def cast_off(self, endpoint: Endpoint, *, closed: bool, error: AmqpError) -> None:
        """Detach for a reason of the engine's own, and tell the user."""
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

    # What the peer says.

    def attached(self, attach: Attach) -> None:
        """The peer attaches, or answers our attach."""
        if not self.may_use(attach.handle):
            return
        known = self.named.get((attach.name, not attach.role))
        if known is not None and known.attach is None:
            self.agree(known, attach)
            return
        if known is not None:
            error = "a newer attach has its name"
            self.cast_off(
                known, closed=False, error=AmqpError(conditions.STOLEN, error)
            )
        self.welcome(attach)

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
        """The peer has answered our attach."""
        endpoint.answered_by(attach)
        self.by_remote[attach.handle] = endpoint
        if endpoint.gone:
            del self.named[endpoint.name, endpoint.role]
        else:
            self.session.tell(Attached(endpoint, attach))

    def welcome(self, attach: Attach) -> None:
        """The peer begins it; the user is asked, unless there are too many."""
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
        """The peer detaches, or answers our detach."""
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
