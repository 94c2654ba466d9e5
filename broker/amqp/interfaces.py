"""Interfaces by which lower parts of a listener call higher ones without importing
them.

``End`` is the broker's side of an endpoint. The protocols are for type checkers only:
each declares just the members that lower modules use. ``transactions``, ``senders``,
``nodes`` and ``clients`` declare further ones of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

from django.contrib.auth.base_user import AbstractBaseUser

from broker.amqp.limits import ListenerLimits
from broker.amqp.messages.anonymous_relay import Places
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver
from broker.amqp.protocol.performatives import DeliveryState, Outcome
from broker.security.authorities import Authority
from broker.settlement.batch import Settlement

Asked = ParamSpec("Asked")
Result = TypeVar("Result")

CBS = "CBS"  # mechanism of clients of Azure Service Bus: a token


class Snapshot(NamedTuple):
    """Counts of an endpoint for the console; at most a second old there."""

    credit: int
    unsettled: int
    messages: int  # messages transferred since the attach
    settled: int


class End:
    """The broker's side of an endpoint: it gets, puts, browses or coordinates.

    It is the ``context`` of the protocol's endpoint once the attach is accepted. Its
    methods are called in the loop's thread, in the order of the client's frames. A
    method that does not apply to an end does nothing.

    Attributes:
        kind: a value of ``ClientEndpoint.Kind``.
        node: the name of the queue or address; empty for an anonymous relay.
        queue_id: the queue that it gets from or browses; None for others.
        needs: the authority that it needs, and the name that this is for; None if it
            needs none, or if each message is checked by itself.
    """

    kind: str
    node: str
    queue_id: int | None
    needs: tuple[Authority, str] | None

    def received(self, deliveries: Sequence[Delivery]) -> None:
        """Handle complete messages from the client, in order."""

    def flowed(self) -> None:
        """Handle a flow: the client's credit may have changed."""

    def disposed(
        self,
        deliveries: Sequence[Delivery],
        state: DeliveryState | None,
        settled: bool,  # noqa: FBT001 - as the event has it
    ) -> None:
        """Handle a disposition: outcomes of messages sent to the client."""

    def resumed(self) -> None:
        """Continue sending: the session's window or the socket has room again."""

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as the event has it
        """End in order; this is the last call. ``closed`` has the value of the detach.

        The endpoint may have been detached by the client, or by the broker, as when an
        authority is withdrawn or an operator closes it; or its session or connection
        has ended.
        """
        raise NotImplementedError

    def lost(self) -> None:
        """End after the client vanished; this is the last call."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        raise NotImplementedError


class ListenerContext(Protocol):
    """The part of ``Listener`` that endpoints use."""

    loop: asyncio.AbstractEventLoop
    places: Places
    endings: set[asyncio.Future[Any]]

    def now(self) -> datetime: ...

    def database(
        self, call: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> asyncio.Future[Result]: ...


class Reading(Protocol):
    """The part of ``Hearing`` that receivers use."""

    def hold(self, reason: Literal["puts"]) -> None: ...

    def release(self, reason: Literal["puts"]) -> None: ...


class ClientContext(Protocol):
    """The part of ``Client`` that endpoints use."""

    limits: ListenerLimits
    id: int
    container_id: str
    gone: bool
    temporaries: set[str]
    in_flight_bytes: int
    put_bytes: int

    @property
    def listener(self) -> ListenerContext: ...

    @property
    def hearing(self) -> Reading: ...

    @property
    def user(self) -> AbstractBaseUser: ...

    @property
    def actor(self) -> str: ...

    @property
    def stopping(self) -> bool: ...

    @property
    def paused(self) -> bool: ...

    def may(self, authority: Authority, name: str) -> bool: ...

    def guard(self, call: Callable[..., object], *args: Any, **kw: Any) -> None: ...

    def flush(self) -> None: ...

    def cast_off(self, endpoint: Endpoint, error: AmqpError) -> None: ...


class LinkContext(Protocol):
    """The part of ``Gets`` that transactions use for its deliveries."""

    mark: bool

    def settlement(
        self, deliveries: Sequence[Delivery], outcome: Outcome | None
    ) -> list[Settlement]: ...

    def discharged(
        self, deliveries: Sequence[Delivery], outcome: Outcome | None
    ) -> None: ...

    def rolled_back(self, deliveries: Sequence[Delivery], *, settled: bool) -> None: ...

    def end_badly(
        self, deliveries: Sequence[Delivery], why: str, *, settled: bool
    ) -> None: ...


class CoordinatorContext(Protocol):
    """The part of ``Coordinates`` that its transactions use."""

    endpoint: Receiver

    def next_id(self) -> bytes: ...

    def advance(self) -> None: ...
