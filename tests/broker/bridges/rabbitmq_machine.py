"""The machine's RabbitMQ, where it has one: queues of a test's own, and its other end.

What a test looks at from outside, it looks at with py-amqp alone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import amqp
import pytest

from broker.bridges.providers.interface import (
    Destination,
    Factory,
    ProviderSubscription,
    Received,
)
from broker.bridges.providers.rabbitmq import RabbitMQSession, connect
from broker.queueing.store import NewMessage
from tests.console.until import until

PORT = 5672
HOST = f"127.0.0.1:{PORT}"


@cache
def is_here() -> bool:
    try:
        with amqp.Connection(HOST, connect_timeout=2):
            return True
    except (OSError, amqp.AMQPError):
        return False


needed = pytest.mark.skipif(
    not is_here(), reason=f"no RabbitMQ at {HOST} lets guest/guest in"
)


def factory(port: int = PORT, **fields: Any) -> Factory:
    url = f"amqp://127.0.0.1:{port}"
    return Factory(**{"name": "rabbit", "provider": "rabbitmq", "url": url} | fields)


@contextmanager
def session(port: int = PORT, **fields: Any) -> Iterator[RabbitMQSession]:
    opened = connect(factory(port, **fields))
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def looking(port: int = PORT) -> Iterator[Any]:
    """A channel of py-amqp's own."""
    with amqp.Connection(f"127.0.0.1:{port}") as connection:
        yield connection.channel()


@contextmanager
def queue(
    arguments: dict[str, Any] | None = None, port: int = PORT
) -> Iterator[Destination]:
    """A durable queue of its own name, deleted afterwards."""
    name = f"backout.test.{uuid.uuid4().hex}"
    with looking(port) as channel:
        channel.queue_declare(
            name, durable=True, auto_delete=False, arguments=arguments
        )
    try:
        yield Destination(name)
    finally:
        with looking(port) as channel:
            channel.queue_delete(name)


@contextmanager
def exchange(kind: str, port: int = PORT) -> Iterator[Destination]:
    name = f"backout.test.{uuid.uuid4().hex}"
    with looking(port) as channel:
        channel.exchange_declare(name, kind, auto_delete=False)
    try:
        yield Destination(name, is_topic=True)
    finally:
        with looking(port) as channel:
            channel.exchange_delete(name)


def put(
    destination: Destination, *bodies: bytes, port: int = PORT, **fields: Any
) -> None:
    """Send as any other client does."""
    with looking(port) as channel:
        channel.confirm_select()
        for body in bodies:
            message = amqp.Message(body, **{"delivery_mode": 2} | fields)
            channel.basic_publish_confirm(message, routing_key=destination.name)


def waiting(destination: Destination, port: int = PORT) -> int:
    """How many messages are ready on a queue."""
    with looking(port) as channel:
        asked = channel.queue_declare(destination.name, passive=True)
        return int(asked.message_count)


def numbered(destination: Destination, many: int, **fields: Any) -> list[NewMessage]:
    return [
        NewMessage(destination.name, str(number).encode(), **fields)
        for number in range(many)
    ]


def take(
    subscription: ProviderSubscription, many: int, within_s: float = 20
) -> list[Received]:
    """So many messages, not acknowledged."""
    taken: list[Received] = []
    deadline = time.monotonic() + within_s
    while len(taken) < many:
        taken += subscription.receive(many - len(taken), 1)
        assert time.monotonic() < deadline, f"{len(taken)} of {many} came"
    return taken


def bodies(received: Sequence[Received]) -> list[bytes]:
    return [one.message.body for one in received]


def until_waiting(destination: Destination, many: int, port: int = PORT) -> None:
    """RabbitMQ takes back what was not acknowledged as soon as it sees a cut."""
    until(lambda: waiting(destination, port) == many, 20)
