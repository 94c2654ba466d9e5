"""What the parts of a listener know of each other: the lower names no class above it.

``End`` is what stands behind an endpoint. The protocols are for type checkers alone:
each says what is called from below, not all that there is. What ``transactions``,
``senders``, ``nodes`` and ``clients`` know besides, they declare themselves.
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


class Snapshot(NamedTuple):
    """What the console shows of an endpoint, a second old at most."""

    credit: int
    unsettled: int
    messages: int  # that went through since it was attached
    settled: int


class End:
    """What stands behind an endpoint: the part that gets, puts, browses or coordinates.

    It is the ``context`` of the protocol's endpoint from the moment the attach is
    accepted. All of it is called in the loop's thread, in the order in which the client
    acted; what cannot be meant for an end does nothing.

    Attributes:
        kind: a value of ``ClientEndpoint.Kind``.
        node: the name of the queue or address; empty where each message says it.
        queue_id: of the queue that is got from or browsed; None for others.
        needs: the authority without which it may not go on, and the name it is asked
            for; None where there is none, or each message is asked for.
    """

    kind: str
    node: str
    queue_id: int | None
    needs: tuple[Authority, str] | None

    def received(self, deliveries: Sequence[Delivery]) -> None:
        """Whole messages came from the client, one after the other."""

    def flowed(self) -> None:
        """The client said something about its credit."""

    def disposed(
        self,
        deliveries: Sequence[Delivery],
        state: DeliveryState | None,
        settled: bool,  # noqa: FBT001 - as the event has it
    ) -> None:
        """The client told the outcome of what was sent to it."""

    def resumed(self) -> None:
        """The session's window, or the socket, takes more again."""

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as the event has it
        """It ended in order, and for good if ``closed``; the last call.

        The endpoint may have been detached by us, as when an authority is withdrawn or
        an operator closes it, by the client, or with its session or connection.
        """
        raise NotImplementedError

    def lost(self) -> None:
        """The client is gone without a word; the last call."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        raise NotImplementedError


class ListenerContext(Protocol):
    """The ``Listener`` of a client."""

    loop: asyncio.AbstractEventLoop
    places: Places
    endings: set[asyncio.Future[Any]]

    def now(self) -> datetime: ...

    def database(
        self, call: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> asyncio.Future[Result]: ...


class Reading(Protocol):
    """The ``Hearing`` of a client that puts."""

    def hold(self, reason: Literal["puts"]) -> None: ...

    def release(self, reason: Literal["puts"]) -> None: ...


class ClientContext(Protocol):
    """The ``Client`` behind an endpoint."""

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
    """The ``Gets`` whose deliveries are part of a transaction."""

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
    """The ``Coordinates`` that has declared a transaction."""

    endpoint: Receiver

    def next_id(self) -> bytes: ...

    def advance(self) -> None: ...
