"""The providers at the other ends of the links that are struck, each really there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import amqp

from broker.bridges.providers.interface import Factory
from tests.broker.bridges import rabbitmq_node
from tests.make import make_setting
from tests.tools.bridge_faults.pairs import (
    ALL_HERE,
    PLAIN,
    SOURCE,
    TARGET,
    Pair,
    make_pair,
)

Make = Callable[[ExitStack, Path, int], Pair]


def here(stack: ExitStack, folder: Path, batch: int) -> Pair:
    """Both ends are this broker."""
    return with_patience(make_pair("here", points=ALL_HERE, batch=batch))


def rabbitmq(
    *, is_inbound: bool, detects: bool = False
) -> Callable[[ExitStack, Path, int], Pair]:
    """RabbitMQ at one end; without transactions."""

    def make(stack: ExitStack, folder: Path, batch: int) -> Pair:
        place = folder / f"rabbitmq{is_inbound}{detects}"
        place.mkdir()
        node = rabbitmq_node.start(place)
        stack.callback(node.kill)
        with amqp.Connection(f"{rabbitmq_node.HOST}:{node.port}") as line:
            channel = line.channel()
            for queue in (SOURCE, TARGET):
                channel.queue_declare(queue, durable=True, auto_delete=False)
        factory = Factory(
            "rabbit", "rabbitmq", node.url, username="guest", password="guest"
        )
        return with_patience(
            make_pair(
                "rabbitmq-in" if is_inbound else "rabbitmq-out",
                factory,
                is_inbound=is_inbound,
                points=(*ALL_HERE, *PLAIN),
                transacted=False,
                duplicate_detection=detects,
                batch=batch,
            )
        )

    return make


def with_patience(pair: Pair) -> Pair:
    """No message is a dead letter because its consumer was killed that often."""
    make_setting("#", max_delivery_attempts=-1)
    return pair


PAIRS: dict[str, Make] = {
    "here": here,
    "rabbitmq-out": rabbitmq(is_inbound=False),
    "rabbitmq-in": rabbitmq(is_inbound=True),
    "rabbitmq-in-once": rabbitmq(is_inbound=True, detects=True),
}
