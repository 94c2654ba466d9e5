"""What the peer did, as ``Connection.receive`` tells it, in the order it happened.

The engine has already answered what needs no decision: a detach, an end, a close, an
echo. What waits for its user is ``Opened`` (``Connection.open`` or ``close``) and
``Attached`` (``Endpoint.accept`` or ``refuse``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.delivery import Delivery, EndpointRef
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.interfaces import SessionOutput


@dataclass(slots=True)
class Opened:
    """The peer's open. A server answers with ``Connection.open`` or ``close``."""

    open: p.Open


@dataclass(slots=True)
class Begun:
    """The peer began a session, or answered ours. The engine has answered it."""

    session: SessionOutput[Endpoint]


@dataclass(slots=True)
class Attached:
    """The peer's attach.

    If the peer began it, ``endpoint.answered`` is false, and it waits for
    ``endpoint.accept`` or ``endpoint.refuse``, at any later time.
    """

    endpoint: Endpoint
    attach: p.Attach


@dataclass(slots=True)
class MessageReceived:
    """A whole message came, with as many frames as it had."""

    receiver: Receiver
    delivery: Delivery


@dataclass(slots=True)
class Flowed:
    """The peer said something about its credit: see ``sender.credit``, ``drain``.

    It may come before the attach is accepted; then it is the user's to look at
    ``sender.credit`` after accepting.
    """

    sender: Sender


@dataclass(slots=True)
class Drained:
    """The peer has nothing more to send: the credit it did not use is gone."""

    receiver: Receiver


@dataclass(slots=True)
class Disposed:
    """The peer told the outcome of messages we sent, in the order of their ids.

    Attributes:
        endpoint: that sent them. A disposition over several of them is several events.
        deliveries: never empty, of this endpoint, each still in ``unsettled`` before.
        state: of them all; None when the peer gave none.
        settled: whether the peer has settled; then they are out of ``unsettled``
            already. Otherwise settle them with ``Session.settle``.
    """

    endpoint: EndpointRef
    deliveries: Sequence[Delivery]
    state: p.DeliveryState | None
    settled: bool


@dataclass(slots=True)
class Detached:
    """The endpoint is gone. It comes once at most, and not after a refusal.

    Its ``unsettled`` are left as they were, for its user to end.

    Attributes:
        closed: whether the peer closed it for good; what the engine itself detached
            with an error is closed, but for what a newer attach took over.
        error: the peer's, or the engine's own (too large, no credit, stolen).
    """

    endpoint: Endpoint
    closed: bool
    error: Error | None


@dataclass(slots=True)
class Ended:
    """The session is gone, and with it all of ``session.endpoints()``.

    There is no Detached for each.
    """

    session: SessionOutput[Endpoint]
    error: Error | None


@dataclass(slots=True)
class Resumed:
    """The peer's window is open again: ``session.can_send`` is true."""

    session: SessionOutput[Endpoint]


@dataclass(slots=True)
class Closed:
    """The connection is over, with all its sessions: there is no Ended for each.

    What ``Connection.outgoing`` still has should be written; then close the socket.

    Attributes:
        error: the peer's, or the protocol error for which the engine closed.
        by_peer: whether the peer said close; false for protocol errors and silence.
    """

    error: Error | None
    by_peer: bool = False


Event = (
    Opened
    | Begun
    | Attached
    | MessageReceived
    | Flowed
    | Drained
    | Disposed
    | Detached
    | Ended
    | Resumed
    | Closed
)
