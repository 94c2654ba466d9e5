"""One handing over of a message, in either direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.amqp.protocol.endpoints import Endpoint
    from broker.amqp.protocol.performatives import DeliveryState


@dataclass(slots=True, eq=False)
class Delivery:
    """A message under way.

    Attributes:
        id: of the session, which numbers each direction by itself.
        tag: 1 to 32 bytes that the sender chose.
        endpoint: that received or sent it.
        payload: all sections of a received message; empty for one we sent.
        message_format: 0 for AMQP's own.
        settled: whether it is over: sent settled, or settled since.
        state: of a received message, what its sender said (as a transaction); of a
            sent one, the same, and what the peer said last once it has.
        context: for the user of the engine.
    """

    id: int
    tag: bytes
    endpoint: Endpoint
    payload: bytes = b""
    message_format: int = 0
    settled: bool = False
    state: DeliveryState | None = None
    context: Any = None
