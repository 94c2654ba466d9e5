"""The broker's side of an endpoint: what becomes of a client's events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.performatives import DeliveryState
from broker.security.authorities import Authority


class Snapshot(NamedTuple):
    """Counts of an endpoint for the console; at most a second old there."""

    credit: int
    unsettled: int
    messages: int  # messages transferred since the attach
    settled: int
    busy_percent: int | None = None  # share of time with a message to settle
    uncommitted: int = 0  # messages put in transactions that are open


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
