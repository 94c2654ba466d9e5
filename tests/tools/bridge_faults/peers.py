"""The providers at the other ends of the links that are struck, each really there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import amqp
from django.db import connection

from broker.bridges.providers.interface import Factory
from tests.broker.bridges import activemq as peers_of_stomp
from tests.broker.bridges import rabbitmq_node
from tests.broker.bridges.other_backout import OtherBackout
from tests.console.ports import kept_port
from tests.make import make_queue, make_setting
from tests.tools.bridge_faults.pairs import (
    ALL_HERE,
    MARKED,
    PLAIN,
    SOURCE,
    TARGET,
    TWO_PHASE,
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


def activemq(*, is_inbound: bool) -> Make:
    """ActiveMQ by STOMP, transacted: a marker decides."""

    def make(stack: ExitStack, folder: Path, batch: int) -> Pair:
        peer = stack.enter_context(peers_of_stomp.activemq())
        return with_patience(
            make_pair(
                "activemq-in" if is_inbound else "activemq-out",
                peer.factory(
                    username=peers_of_stomp.ADMIN,
                    password=peers_of_stomp.ADMIN_PASSWORD,
                ),
                is_inbound=is_inbound,
                points=(*ALL_HERE, *MARKED),
                batch=batch,
            )
        )

    return make


def backout(*, is_inbound: bool) -> Make:
    """Another Backout on a database of its own, transacted: by prepare and commit."""

    def make(stack: ExitStack, folder: Path, batch: int) -> Pair:
        var = folder / f"backout{is_inbound}"
        var.mkdir()
        port = stack.enter_context(kept_port())
        name = f"{connection.settings_dict['NAME']}_other"
        other = OtherBackout(var, port, name)
        stack.callback(other.stop)
        other.make()
        other.start()
        other.secret = other.credential("link")
        with other.instead():
            make_setting("#", max_delivery_attempts=-1)
            for queue in (SOURCE, TARGET):
                make_queue(queue)
        return with_patience(
            make_pair(
                "backout-in" if is_inbound else "backout-out",
                other.factory(),
                is_inbound=is_inbound,
                points=(*ALL_HERE, *TWO_PHASE),
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
    "backout-out": backout(is_inbound=False),
    "backout-in": backout(is_inbound=True),
    "activemq-out": activemq(is_inbound=False),
    "activemq-in": activemq(is_inbound=True),
    "rabbitmq-out": rabbitmq(is_inbound=False),
    "rabbitmq-in": rabbitmq(is_inbound=True),
    "rabbitmq-in-once": rabbitmq(is_inbound=True, detects=True),
}
