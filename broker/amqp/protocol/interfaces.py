"""Protocols: the parts of session and connection that endpoints use.

For type checkers only; they cost nothing at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery, SessionRef
from broker.amqp.protocol.limits import Limits
from broker.amqp.protocol.performatives import Begin, Performative
from broker.amqp.protocol.send_queue import Outlet

EndpointT = TypeVar("EndpointT")
AnyEndpoint = TypeVar("AnyEndpoint", contravariant=True)


class ConnectionOutput(Protocol):
    """The part of ``Connection`` that endpoints use."""

    limits: Limits
    frame_size: int
    links: int

    def emit(self, channel: int, performative: Performative) -> None: ...

    def hold(self, size_bytes: int) -> bool: ...


class HandlesOutput(Protocol[AnyEndpoint]):
    """The part of ``Handles`` that endpoints use."""

    def answer(self, endpoint: AnyEndpoint, **fields: Any) -> None: ...

    def detach(
        self, endpoint: AnyEndpoint, *, closed: bool, error: AmqpError | None = None
    ) -> None: ...

    def cast_off(
        self, endpoint: AnyEndpoint, *, closed: bool, error: AmqpError
    ) -> None: ...


class SessionOutput(SessionRef, Protocol[EndpointT]):
    """The part of ``Session`` that endpoints and events use."""

    remote_channel: int | None
    begin: Begin | None
    active: bool
    next_delivery_id: int
    outlet: Outlet
    incoming: dict[int, Delivery]
    outgoing: dict[int, Delivery]

    @property
    def connection(self) -> ConnectionOutput: ...

    @property
    def handles(self) -> HandlesOutput[EndpointT]: ...

    @property
    def can_send(self) -> bool: ...

    def endpoints(self) -> Sequence[EndpointT]: ...

    def emit(self, performative: Performative) -> None: ...

    def send_flow(
        self, endpoint: EndpointT | None = None, *, echo: bool = False
    ) -> None: ...

    def end(self, error: AmqpError | None = None) -> None: ...

    def fail(self, error: AmqpError) -> None: ...

    def unattached(self, handle: int) -> None: ...
