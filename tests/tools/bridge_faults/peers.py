"""The providers at the other ends of the links that are struck, each really there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import amqp
from django.db import connection

from broker.bridges.providers.interface import Factory
from tests.broker.bridges import activemq as peers_of_stomp
from tests.broker.bridges import amqp_peers, rabbitmq_node
from tests.broker.bridges.other_backout import OtherBackout
from tests.broker.bridges.servers import Server
from tests.console.ports import kept_port
from tests.make import make_queue, make_setting
from tests.tools.bridge_faults.pairs import (
    ALL_HERE,
    ALWAYS,
    MARKED,
    PLAIN_IN,
    PLAIN_OUT,
    SOURCE,
    TARGET,
    TWO_PHASE,
    Pair,
    Victim,
    make_pair,
)

AS_DECLARED = {"queue-prefix": "/amq/queue/"}  # of queues that are there already

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
        node = started(stack, place)
        factory = Factory(
            "rabbit", "rabbitmq", node.url, username="guest", password="guest"
        )
        return with_patience(
            make_pair(
                "rabbitmq-in" if is_inbound else "rabbitmq-out",
                factory,
                is_inbound=is_inbound,
                points=PLAIN_IN if is_inbound else PLAIN_OUT,
                column="RabbitMQ",
                peer=revivable(node),
                transacted=False,
                duplicate_detection=detects,
                batch=batch,
            )
        )

    return make


def amqp_1_0(*, is_inbound: bool) -> Make:
    """RabbitMQ by AMQP 1.0, through its plugin; without transactions."""

    def make(stack: ExitStack, folder: Path, batch: int) -> Pair:
        place = folder / f"amqp{is_inbound}"
        place.mkdir()
        node = started(stack, place, "rabbitmq_amqp1_0")
        return with_patience(
            make_pair(
                "amqp-in" if is_inbound else "amqp-out",
                amqp_peers.factory("rabbitmq", node.port, AS_DECLARED),
                is_inbound=is_inbound,
                points=PLAIN_IN if is_inbound else PLAIN_OUT,
                column="AMQP 1.0",
                peer=revivable(node),
                transacted=False,
                duplicate_detection=is_inbound,
                batch=batch,
            )
        )

    return make


def started(stack: ExitStack, folder: Path, *plugins: str) -> rabbitmq_node.Node:
    """A node with the two queues."""
    node = rabbitmq_node.start(folder, plugins)
    stack.callback(node.kill)
    with amqp.Connection(f"{rabbitmq_node.HOST}:{node.port}") as line:
        channel = line.channel()
        for queue in (SOURCE, TARGET):
            channel.queue_declare(queue, durable=True, auto_delete=False)
    return node


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
                points=(*ALWAYS, *MARKED),
                column="STOMP, ActiveMQ",
                peer=revivable(peer),
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
                points=(*(ALWAYS if is_inbound else ALL_HERE), *TWO_PHASE),
                column="another Backout",
                peer=Victim(lambda: pid_of(other.web), other.start_again),
                batch=batch,
            )
        )

    return make


def revivable(server: rabbitmq_node.Node | Server) -> Victim:
    def revive() -> None:
        server.kill()  # it is dead; its process is taken note of
        server.start()

    return Victim(lambda: pid_of(server.process), revive)


def pid_of(process: subprocess.Popen[bytes] | None) -> int:
    assert process is not None, "it does not run"
    return process.pid


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
    "amqp-out": amqp_1_0(is_inbound=False),
    "amqp-in": amqp_1_0(is_inbound=True),
}
