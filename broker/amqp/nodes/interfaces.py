"""Protocols: the parts of the attaching client and of its listener that nodes use."""

from __future__ import annotations

from typing import Protocol

from broker.amqp.interfaces import ClientContext
from broker.amqp.nodes.consumers import Consumers
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.senders.interfaces import SenderClient, SenderListener


class Holders(Protocol):
    """The part of ``Register`` that keeps consumers, and exclusive consumers, of
    queues."""

    async def hold(
        self,
        client: ClientContext,
        endpoint: Endpoint,
        queue_id: int,
        *,
        exclusive: bool = True,
    ) -> None: ...


class NodeListener(SenderListener, Protocol):
    """The part of ``Listener`` that nodes use."""

    consumers: Consumers

    @property
    def register(self) -> Holders: ...


class NodeClient(SenderClient, Protocol):
    """The part of ``Client`` that nodes use."""

    @property
    def listener(self) -> NodeListener: ...
