"""RabbitMQ's plug-in for AMQP 1.0, in a node of the bench's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import amqp

from tests.bench.loads import Place
from tests.broker.bridges import rabbitmq_node

QUEUE = "backout_bench_amqp"
LOGIN = ("guest", "guest")


@contextmanager
def plugin() -> Iterator[Place | None]:
    """A durable queue that it serves; None where RabbitMQ is not installed."""
    if not rabbitmq_node.is_installed():
        yield None
        return
    with TemporaryDirectory(prefix="plugin") as folder:
        node = rabbitmq_node.start(Path(folder), plugins=["rabbitmq_amqp1_0"])
        try:
            yield queue(node)
        finally:
            node.kill()


def queue(node: rabbitmq_node.Node) -> Place:
    with amqp.Connection(f"{rabbitmq_node.HOST}:{node.port}") as line:
        line.channel().queue_declare(QUEUE, durable=True, auto_delete=False)
    return Place(f"/amq/queue/{QUEUE}", node.port, LOGIN)
