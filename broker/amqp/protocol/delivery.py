"""One handing over of a message, in either direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.performatives import DeliveryState


class SessionRef(Protocol):
    """The ``Session`` of a delivery, as the delivery knows it."""

    channel: int

    def settle(
        self,
        deliveries: Iterable[Delivery],
        state: DeliveryState | None,
        *,
        settled: bool = True,
    ) -> None: ...


class EndpointRef(Protocol):
    """The ``Endpoint`` of a delivery, as the delivery knows it."""

    name: str
    unsettled: dict[int, Delivery]
    context: Any

    @property
    def session(self) -> SessionRef: ...

    def refuse(self, error: AmqpError) -> None: ...


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
    endpoint: EndpointRef
    payload: bytes = b""
    message_format: int = 0
    settled: bool = False
    state: DeliveryState | None = None
    context: Any = None
