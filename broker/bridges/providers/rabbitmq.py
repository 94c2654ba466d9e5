"""RabbitMQ by its own protocol, AMQP 0-9-1, through py-amqp.

RabbitMQ confirms a message once it is stored; one that reaches no queue is refused.
There are no selectors. The protocol has transactions, but they are atomic for one queue
only, so they are not supported here.

    queue:NAME   the queue NAME; as a target it is reached by the default exchange
    topic:NAME   the exchange NAME; as a source it feeds the subscription's own queue

Properties of a connection factory: ``exchange`` and ``routing-key`` override those of
the destination's name; ``binding-key`` selects messages of an exchange for a
subscription (default: all); ``ca-file``, ``cert-file`` and ``key-file`` are for
``amqps``.

Source:
    RabbitMQ's manual, "Consumer Acknowledgements and Publisher Confirms".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.bridges.providers.interface import Capability, Destination, Factory
from broker.bridges.providers.no_transactions import NoTransactions
from broker.bridges.providers.rabbitmq_consuming import RabbitMQSubscription
from broker.bridges.providers.rabbitmq_opening import opened, provider_error
from broker.bridges.providers.rabbitmq_publishing import NOT_KEPT, Publisher, Route
from broker.bridges.providers.rabbitmq_wire import Heart, Wire
from broker.errors.bridges import Hold, ProviderLost, SendRefused, WrongFactory
from broker.queueing.store import NewMessage

NO_SELECTORS = (
    "RabbitMQ has no message selectors. Leave the selector of the source empty. The"
    " factory's property binding-key selects the messages of an exchange."
)


class RabbitMQSession(NoTransactions):
    """See ``interface.Session``.

    Publishing and consuming use separate connections: while its memory or disk space is
    low, RabbitMQ reads nothing from publishing connections, not even acknowledgements.
    """

    capabilities = Capability.TOPICS | Capability.DURABLE | Capability.LAG
    no_transactions = "RabbitMQ has no transactions that a link could use."

    def __init__(self, factory: Factory) -> None:
        self.factory = factory
        self.sent_ids: Sequence[str] = ()
        self.spare: Wire | None = None
        self.wires: list[Wire] = []
        self.consuming: Wire | None = None
        self.publisher: Publisher | None = None
        self.heart = Heart(self.wires)
        self.spare = self.wire()
        self.heart.start()

    def wire(self) -> Wire:
        """An unused connection.

        Raises:
            ProviderLost: the session was closed; or see ``interface.Connect``.
        """
        if self.heart.ended.is_set():
            raise ProviderLost(self.factory.name, "The session was closed.")
        if self.spare is not None:
            spare, self.spare = self.spare, None
            return spare
        connection = opened(self.factory)
        wire = Wire(
            connection, lambda error, at: provider_error(self.factory, error, at)
        )
        self.wires.append(wire)
        return wire

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> RabbitMQSubscription:
        """See ``interface.Session``."""
        if selector:
            raise WrongFactory(self.factory.name, NO_SELECTORS)
        if self.consuming is None:
            self.consuming = self.wire()
        queue = destination.name
        with self.consuming.used(str(destination), asking=True) as connection:
            channel: Any = connection.channel()
            if destination.is_topic:
                queue = self.bound(channel, destination.name, durable_name)
            else:
                channel.queue_declare(queue, passive=True)
            channel.close()
        subscription = RabbitMQSubscription(
            self.consuming, queue, destination, prefetch=prefetch
        )
        subscription.is_ours = destination.is_topic and not durable_name
        return subscription

    def bound(self, channel: Any, name: str, durable_name: str) -> str:
        """Declare and bind the subscription's queue; a durable one stays."""
        asked = self.factory.properties
        exchange = asked.get("exchange", name)
        channel.exchange_declare(exchange, "", passive=True)
        queue: str = channel.queue_declare(
            durable_name,
            durable=bool(durable_name),
            exclusive=not durable_name,
            # A durable subscription keeps its queue while it has no consumer.
            auto_delete=False,
        ).queue
        channel.queue_bind(queue, exchange, asked.get("binding-key", "#"))
        return queue

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """See ``interface.Session``."""
        if not messages:
            return []
        route = self.route(destination)
        publisher = self.publishing(destination)
        with publisher.wire.used(str(destination), asking=True):
            publisher.check(route)
        with publisher.wire.used(str(destination)):
            refused = publisher.send(messages, route)
        self.sent_ids = publisher.sent_ids
        if not refused:
            return [None] * len(messages)
        return [
            refusal_of(self.factory.name, refused.get(place))
            for place in range(len(messages))
        ]

    def publishing(self, destination: Destination) -> Publisher:
        if self.publisher is None:
            wire = self.wire()
            with wire.used(str(destination)):
                self.publisher = Publisher(wire)
        return self.publisher

    def route(self, destination: Destination) -> Route:
        name, asked = destination.name, self.factory.properties
        implied = name if destination.is_topic else ""
        return Route(asked.get("exchange", implied), asked.get("routing-key", name))

    def close(self) -> None:
        """See ``interface.Session``."""
        self.heart.ended.set()
        for wire in self.wires:
            wire.close()


def refusal_of(factory: str, why: str | None) -> SendRefused | None:
    if why is None:
        return None
    return SendRefused(factory, why, Hold.FULL if why == NOT_KEPT else None)


def connect(factory: Factory) -> RabbitMQSession:
    """See ``interface.Connect``."""
    return RabbitMQSession(factory)
