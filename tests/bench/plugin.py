"""RabbitMQ's plug-in for AMQP 1.0, where RabbitMQ runs; enabled while it is needed."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from broker.amqp.protocol.frames import SASL_HEADER
from tests.bench import rabbit
from tests.bench.loads import Place

NAME = "rabbitmq_amqp1_0"
QUEUE = "backout_bench_amqp"
COMMAND = shutil.which("rabbitmq-plugins")
PATIENCE_S = 60
LOGIN = ("guest", "guest")


@contextmanager
def plugin() -> Iterator[Place | None]:
    """A durable queue that it serves; None where it cannot be had."""
    if not rabbit.is_here():
        yield None
        return
    was_there = speaks()
    if not was_there:
        switch("enable")
    try:
        yield queue() if speaks() else None
    finally:
        rabbit.connect().channel().queue_delete(QUEUE)
        if not was_there:
            switch("disable")


def queue() -> Place:
    channel = rabbit.connect().channel()
    channel.queue_delete(QUEUE)
    channel.queue_declare(QUEUE, durable=True, auto_delete=False)
    channel.close()
    return Place(f"/amq/queue/{QUEUE}", address()[1], LOGIN)


def speaks() -> bool:
    """Whether it answers in AMQP 1.0."""
    with socket.create_connection(address(), timeout=PATIENCE_S) as made:
        made.sendall(SASL_HEADER)
        return made.recv(len(SASL_HEADER)) == SASL_HEADER


def switch(how: str) -> None:
    """Enable or disable it, if we may; there is nothing to measure otherwise."""
    if COMMAND is not None:
        subprocess.run(
            [COMMAND, how, NAME],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )


def address() -> tuple[str, int]:
    host, port = rabbit.HOST.split(":")
    return host, int(port)
