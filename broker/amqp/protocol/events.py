"""Events: what the peer did, as ``Connection.receive`` returns it, in order.

The engine itself answers what needs no decision: a detach, an end, a close, an echo.
The caller must answer ``Opened`` (by ``Connection.open`` or ``close``) and ``Attached``
(by ``Endpoint.accept`` or ``refuse``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender

if TYPE_CHECKING:
    from broker.amqp.protocol.session import Session


@dataclass(slots=True)
class Opened:
    """The peer's open. A server answers with ``Connection.open`` or ``close``."""

    open: p.Open


@dataclass(slots=True)
class Begun:
    """The peer began a session, which the engine has answered; or the peer answered our
    begin."""

    session: Session


@dataclass(slots=True)
class Attached:
    """The peer's attach.

    If the peer began it, ``endpoint.answered`` is False. Then call ``endpoint.accept``
    or ``endpoint.refuse``, at any later time.
    """

    endpoint: Endpoint
    attach: p.Attach


@dataclass(slots=True)
class MessageReceived:
    """A complete message was received, from one or several frames."""

    receiver: Receiver
    delivery: Delivery


@dataclass(slots=True)
class Flowed:
    """The peer sent a flow: see ``sender.credit`` and ``drain``.

    The event may come before the attach is accepted; then check ``sender.credit`` after
    accepting.
    """

    sender: Sender


@dataclass(slots=True)
class Drained:
    """The peer has nothing more to send, and has given up its unused credit."""

    receiver: Receiver


@dataclass(slots=True)
class Disposed:
    """The peer sent a state for messages that we sent, in the order of their ids.

    Attributes:
        endpoint: the sending endpoint. A disposition for several endpoints gives
            several events.
        deliveries: deliveries of this endpoint that were unsettled before; never empty.
        state: the state of all of them; None if the peer gave none.
        settled: whether the peer has settled them; then they are no longer in
            ``unsettled``. Otherwise settle them with ``Session.settle``.
    """

    endpoint: Endpoint
    deliveries: Sequence[Delivery]
    state: p.DeliveryState | None
    settled: bool


@dataclass(slots=True)
class Detached:
    """The endpoint is gone. It comes at most once, and not after a refusal.

    Its ``unsettled`` deliveries stay there, for the caller to end.

    Attributes:
        closed: whether the peer closed it. If the engine detached it with an error, it
            is closed, unless a newer attach has stolen its name.
        error: the peer's error, or the engine's (too large, no credit, stolen).
    """

    endpoint: Endpoint
    closed: bool
    error: Error | None


@dataclass(slots=True)
class Ended:
    """The session has ended, with all of ``session.endpoints()``.

    There is no event ``Detached`` for each of its endpoints.
    """

    session: Session
    error: Error | None


@dataclass(slots=True)
class Resumed:
    """The peer's window is open again: ``session.can_send`` is true."""

    session: Session


@dataclass(slots=True)
class Closed:
    """The connection is over, with all its sessions; there is no ``Ended`` for each.

    Write what ``Connection.outgoing`` still returns; then close the socket.

    Attributes:
        error: the peer's error, or the protocol error for which the engine closed.
        by_peer: whether the peer sent a close; False after protocol errors and silence.
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
