"""One delivery of a message, in either direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker.amqp.protocol.performatives import DeliveryState

if TYPE_CHECKING:
    from broker.amqp.protocol.endpoint import Endpoint


@dataclass(slots=True, eq=False)
class Delivery:
    """A message in transfer.

    Attributes:
        id: the delivery id; a session numbers each direction by itself.
        tag: 1 to 32 bytes that the sender chose.
        endpoint: the endpoint that received or sent it.
        payload: all sections of a received message; empty for a sent one.
        message_format: 0 for AMQP's own.
        settled: whether it was sent settled, or was settled since.
        state: the state that the sender gave with it, as a transaction's; for a sent
            message, later the last state from the peer.
        context: free for the caller.
    """

    id: int
    tag: bytes
    endpoint: Endpoint
    payload: bytes = b""
    message_format: int = 0
    settled: bool = False
    state: DeliveryState | None = None
    context: Any = None
