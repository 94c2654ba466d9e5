"""What nodes call of the client that attaches, and of its listener."""

from __future__ import annotations

from typing import Protocol

from broker.amqp.interfaces import ClientContext
from broker.amqp.nodes.consumers import Consumers
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.senders.interfaces import SenderClient, SenderListener


class Holders(Protocol):
    """The ``Register`` of those who want a queue for themselves."""

    async def hold(
        self,
        client: ClientContext,
        endpoint: Endpoint,
        queue_id: int,
        *,
        exclusive: bool = True,
    ) -> None: ...


class NodeListener(SenderListener, Protocol):
    """The ``Listener`` of a client that attaches."""

    consumers: Consumers

    @property
    def register(self) -> Holders: ...


class NodeClient(SenderClient, Protocol):
    """The ``Client`` that attaches."""

    @property
    def listener(self) -> NodeListener: ...
