"""Sessions of the provider of AMQP in tests, and what they receive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from broker.bridges.providers.amqp import connect
from broker.bridges.providers.amqp.session import AmqpSession
from broker.bridges.providers.amqp.subscription import AmqpSubscription
from broker.bridges.providers.interface import Destination, Factory, Received
from broker.models import Message, Queue, Ready
from tests.amqp.listening import PASSWORD

ORDERS, STOCK = Destination("orders"), Destination("stock")
NEWS = Destination("news", is_topic=True)
WITHIN_S = 30.0


def factory(port: int, **fields: Any) -> Factory:
    """Of a listener of a test; ``properties`` with hyphens as underscores."""
    defaults: dict[str, Any] = {
        "name": "north",
        "provider": "amqp",
        "url": f"amqp://127.0.0.1:{port}",
        "username": "amelia",
        "password": PASSWORD,
    }
    return Factory(**defaults | fields)


@contextmanager
def session(made: Factory) -> Iterator[AmqpSession]:
    """One that is closed at the end."""
    opened = connect(made)
    try:
        yield opened
    finally:
        opened.close()


def take(
    subscription: AmqpSubscription, count: int, *, acknowledges: bool = False
) -> list[Received]:
    """As many messages, which are waited for."""
    deadline = monotonic() + WITHIN_S
    got: list[Received] = []
    while len(got) < count:
        new = subscription.receive(count - len(got), 1.0)
        if acknowledges:
            subscription.acknowledge(new)
        got += new
        assert monotonic() < deadline, f"only {len(got)} of {count} came"
    return got


def bodies(received: list[Received]) -> list[bytes]:
    return [one.message.body for one in received]


def on(queue: str) -> list[bytes]:
    """What is ready on a queue of this broker, in its order."""
    number = Queue.objects.get(name=queue).pk
    ids = list(
        Ready.objects.filter(queue_id=number)
        .order_by("-priority", "pos")
        .values_list("id", flat=True)
    )
    found = Message.objects.in_bulk(ids)
    return [bytes(found[one].body) for one in ids]


def nothing_comes(subscription: AmqpSubscription) -> bool:
    """Whether nothing more is there now; what comes later is another matter."""
    return not subscription.receive(1, 0.3)
