"""Links to RabbitMQ and to another Backout, measured beside a shovel."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import amqp
from django.db import connection

from broker.models import Queue
from broker.sql import partitions
from tests.bench import ground
from tests.bench.link_cells import (
    AHEAD,
    BATCHES,
    LOOK_S,
    PATIENCE_S,
    PERSISTENT,
    SHOVEL,
    SOURCE,
    TARGET,
    WARM,
    Work,
    WrongError,
    arrived,
    as_bytes,
    bodies,
    carried,
    check,
    fill,
    target,
)
from tests.broker.bridges import rabbitmq_node
from tests.broker.bridges.linking import make_bridge, make_factory, make_link
from tests.broker.bridges.other_backout import OtherBackout
from tests.console.ports import kept_port
from tests.make import make_queue


@contextmanager
def a_rabbitmq() -> Iterator[rabbitmq_node.Node]:
    with TemporaryDirectory(prefix="links") as folder:
        node = rabbitmq_node.start(Path(folder), plugins=["rabbitmq_shovel"])
        try:
            yield node
        finally:
            node.kill()


class Rabbit:
    """A connection that fills and empties queues, and looks at them."""

    def __init__(self, node: rabbitmq_node.Node) -> None:
        self.node = node

    @contextmanager
    def channel(self) -> Iterator[amqp.Channel]:
        line = amqp.Connection(f"{rabbitmq_node.HOST}:{self.node.port}")
        line.connect()
        try:
            channel = line.channel()
            for queue in (SOURCE, TARGET):
                channel.queue_declare(queue, durable=True, auto_delete=False)
            yield channel
        finally:
            line.close()

    def clear(self) -> None:
        with self.channel() as channel:
            for queue in (SOURCE, TARGET):
                channel.queue_purge(queue)

    def fill(self, count: int) -> None:
        with self.channel() as channel:
            for body in bodies(count):
                message = amqp.Message(body, delivery_mode=PERSISTENT)
                channel.basic_publish(message, routing_key=SOURCE)
            until = time.monotonic() + PATIENCE_S
            while self.depth(channel, SOURCE) < count and time.monotonic() < until:
                time.sleep(LOOK_S)

    def depth(self, channel: amqp.Channel, queue: str) -> int:
        return int(channel.queue_declare(queue, passive=True).message_count)

    def check(self, count: int) -> None:
        """Take all that is at the target."""
        found: list[bytes] = []
        with self.channel() as channel:
            until = time.monotonic() + PATIENCE_S
            while len(found) < count and time.monotonic() < until:
                if message := channel.basic_get(TARGET, no_ack=True):
                    found.append(as_bytes(message.body))
            if self.depth(channel, TARGET):
                raise WrongError("More arrived than were sent.")
        check(found, count)

    def shovelled(self, count: int, ahead: int) -> float:
        """From the first thousand that arrives until all are there."""
        said = {
            "src-protocol": "amqp091", "src-uri": self.node.url, "src-queue": SOURCE,
            "src-prefetch-count": ahead, "ack-mode": "on-confirm",
            "dest-protocol": "amqp091", "dest-uri": self.node.url,
            "dest-queue": TARGET, "dest-add-forward-headers": False,
        }  # fmt: skip
        with self.channel() as channel:
            self.node.control("set_parameter", "shovel", SHOVEL, json.dumps(said))
            try:
                began, before = self.reached(channel, WARM)
                ended, after = self.reached(channel, count)
            finally:
                self.node.control("clear_parameter", "shovel", SHOVEL)
        return (after - before) / (ended - began)

    def reached(self, channel: amqp.Channel, count: int) -> tuple[float, int]:
        until = time.monotonic() + PATIENCE_S
        while (depth := self.depth(channel, TARGET)) < count:
            if time.monotonic() > until:
                raise WrongError(f"The shovel moved {depth} of {count} in time.")
            time.sleep(LOOK_S)
        return time.perf_counter(), depth


def with_rabbitmq(node: rabbitmq_node.Node) -> list[Work]:
    rabbit = Rabbit(node)
    there = make_factory(make_bridge(), "rabbit", "rabbitmq", url=node.url)

    def shovel(ahead: int) -> Callable[[int], float]:
        def run(count: int) -> float:
            rabbit.clear()
            rabbit.fill(count)
            rate = rabbit.shovelled(count, ahead)
            rabbit.check(count)
            return rate

        return run

    def out_of(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"from-rabbit{batch}", source=SOURCE, target=TARGET, source_factory=there,
            batch=batch, transacted=False,
        )  # fmt: skip

        def run(count: int) -> float:
            rabbit.clear()
            rabbit.fill(count)
            rate = carried(link, count)
            check(arrived(), count)
            return rate

        return run

    def into(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"to-rabbit{batch}", source=SOURCE, target=TARGET, target_factory=there,
            batch=batch, transacted=False,
        )  # fmt: skip

        def run(count: int) -> float:
            rabbit.clear()
            fill(count)
            rate = carried(link, count)
            rabbit.check(count)
            return rate

        return run

    name = "shovel, RabbitMQ → RabbitMQ"
    works = [Work(name, ahead, shovel(ahead)) for ahead in (1, AHEAD)]
    for batch in BATCHES:
        peer, least = (name, AHEAD if batch > 1 else 1), target(0.7, batch)
        works += [
            Work("RabbitMQ → Backout", batch, out_of(batch), peer, least),
            Work("Backout → RabbitMQ", batch, into(batch), peer, least),
        ]
    return works


# Another Backout, with a database of its own.


@contextmanager
def another_backout() -> Iterator[OtherBackout]:
    with TemporaryDirectory(prefix="links") as var, kept_port() as port:
        name = f"{connection.settings_dict['NAME']}_other"
        other = OtherBackout(Path(var), port, name)
        other.make()
        try:
            with other.instead():  # it is a copy of ours, or has nothing
                for queue in (SOURCE, TARGET):
                    if not Queue.objects.filter(name=queue).exists():
                        make_queue(queue)
            other.start()
            other.secret = other.credential("bridge")
            yield other
        finally:
            other.stop()


def empty(other: OtherBackout) -> None:
    """Begin anew there, too."""
    other.sql(f"TRUNCATE {', '.join(f'broker_{one}' for one in ground.HOT)} CASCADE")
    with other.instead():
        partitions.make_ahead()


def with_another(other: OtherBackout) -> list[Work]:
    there = make_factory(
        make_bridge(), "other", "backout", url=other.url, password=other.secret
    )

    def into(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"to-other{batch}", source=SOURCE, target=TARGET, target_factory=there,
            batch=batch,
        )  # fmt: skip

        def run(count: int) -> float:
            empty(other)
            fill(count)
            rate = carried(link, count)
            with other.instead():
                check(arrived(), count)
            return rate

        return run

    def out_of(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"from-other{batch}", source=SOURCE, target=TARGET, source_factory=there,
            batch=batch,
        )  # fmt: skip

        def run(count: int) -> float:
            empty(other)
            with other.instead():
                fill(count)
            rate = carried(link, count)
            check(arrived(), count)
            return rate

        return run

    works = []
    for batch in BATCHES:
        cycle = ("the engine's cycle", batch)
        least = target(0.25, batch)
        works += [
            Work("Backout → another Backout", batch, into(batch), cycle, least),
            Work("another Backout → Backout", batch, out_of(batch), cycle, least),
        ]
    return works
