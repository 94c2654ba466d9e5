"""One delivery of a message, in either direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.performatives import DeliveryState


class SessionRef(Protocol):
    """The part of ``Session`` that users of a delivery need."""

    channel: int

    def settle(
        self,
        deliveries: Iterable[Delivery],
        state: DeliveryState | None,
        *,
        settled: bool = True,
    ) -> None: ...


class EndpointRef(Protocol):
    """The part of ``Endpoint`` that users of a delivery need."""

    name: str
    unsettled: dict[int, Delivery]
    context: Any

    @property
    def session(self) -> SessionRef: ...

    def refuse(self, error: AmqpError) -> None: ...


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
    endpoint: EndpointRef
    payload: bytes = b""
    message_format: int = 0
    settled: bool = False
    state: DeliveryState | None = None
    context: Any = None
