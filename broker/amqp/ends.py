"""What stands behind an endpoint: the part that gets, puts, browses or coordinates.

It is the ``context`` of the protocol's endpoint from the moment the attach is accepted.
All of it is called in the loop's thread, in the order in which the client acted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.performatives import DeliveryState
from broker.security.authorities import Authority


class Snapshot(NamedTuple):
    """What the console shows of an endpoint, a second old at most."""

    credit: int
    unsettled: int
    messages: int  # that went through since it was attached
    settled: int


class End(Protocol):
    """One of these for each endpoint that was accepted.

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

    def lost(self) -> None:
        """The client is gone without a word; the last call."""

    def snapshot(self) -> Snapshot: ...
