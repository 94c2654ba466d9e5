"""RabbitMQ, where it runs: durable queues, publisher confirms, manual acknowledgement.

Driven by py-amqp, the client that comes with Celery. Confirms are awaited for a batch
at a time. An acknowledgement is not answered, which favours it. Each client has a queue
of its own: of a shared one, a consumer holds what another waits for.
"""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from functools import cache
from pathlib import Path

import amqp
import psutil

from tests.bench.body import BODY

HOST = os.environ.get("BENCH_RABBITMQ", "127.0.0.1:5672")
PLAIN, FAILING, DEAD = "backout_bench", "backout_bench_failing", "backout_bench_dead"
AHEAD = 1000  # deliveries that it hands out before they are acknowledged
PATIENCE_S = 30
PERSISTENT = 2


class Publisher:
    """A channel that knows which of its messages are not confirmed yet."""

    def __init__(self) -> None:
        self.channel = connect().channel()
        self.channel.confirm_select()
        self.channel.events["basic_ack"].add(self.confirmed)
        self.sent = 0
        self.open: dict[int, None] = {}  # by number, in order

    def confirmed(self, tag: int, multiple: bool) -> None:
        if not multiple:
            del self.open[tag]
        while multiple and self.open and (first := next(iter(self.open))) <= tag:
            del self.open[first]

    def publish(self, queue: str, bodies: list[bytes]) -> None:
        for body in bodies:
            message = amqp.Message(body, delivery_mode=PERSISTENT)
            self.channel.basic_publish(message, routing_key=queue)
            self.sent += 1
            self.open[self.sent] = None
        while self.open:
            connect().drain_events(timeout=PATIENCE_S)


class Consumer:
    """A channel that keeps what was delivered and not yet taken."""

    def __init__(self, queue: str) -> None:
        self.channel = connect().channel()
        self.channel.basic_qos(0, AHEAD, a_global=False)
        self.got: deque[amqp.Message] = deque()
        self.channel.basic_consume(queue, callback=self.got.append)

    def take(self, batch: int) -> list[amqp.Message]:
        while len(self.got) < batch:
            connect().drain_events(timeout=PATIENCE_S)
        return [self.got.popleft() for _ in range(batch)]

    def accept(self, last: amqp.Message) -> None:
        """This one and all before it."""
        self.channel.basic_ack(last.delivery_tag, multiple=True)

    def refuse(self, last: amqp.Message, again: bool) -> None:
        """The same; they come again, or are dead letters."""
        # py-amqp has no method for basic.nack.
        arguments = (last.delivery_tag, True, again)
        self.channel.send_method(amqp.spec.Basic.Nack, "Lbb", arguments)


@cache
def connect() -> amqp.Connection:
    connection = amqp.Connection(HOST, connect_timeout=2)
    connection.connect()
    return connection


@cache
def publisher() -> Publisher:
    return Publisher()


@cache
def consumer(queue: str) -> Consumer:
    return Consumer(queue)


def is_here() -> bool:
    try:
        connect()
    except OSError:
        return False
    return True


def version() -> str:
    return str(connect().server_properties["version"])


@cache
def servers() -> list[Path]:
    """Folders of the threads of the server, where it runs on this machine."""
    port = int(HOST.rpartition(":")[2])
    listen = [one for one in psutil.net_connections("tcp") if one.status == "LISTEN"]
    owners = {one.pid for one in listen if one.laddr.port == port and one.pid}
    return [Path(f"/proc/{pid}/task") for pid in owners]


def processor_s() -> float:
    """Of all threads of the server; one that ends between two looks is lost."""
    spent_ns = 0
    for folder in servers():
        for file in folder.glob("*/schedstat"):
            with suppress(OSError):
                spent_ns += int(file.read_text().split()[0])
    return spent_ns / 1e9


def install() -> None:
    """The queues, empty; what is refused on one goes to the next."""
    remove()
    declare(DEAD)
    declare(FAILING, has_dead_letters=True)


def remove() -> None:
    channel = connect().channel()
    for queue in (FAILING, DEAD):
        channel.queue_delete(queue)
    channel.close()


def clear() -> None:
    declare(DEAD)  # another measurement on this machine may have removed it
    channel = connect().channel()
    channel.queue_purge(DEAD)
    channel.close()


@cache
def own(queue: str) -> str:
    """Such a queue for this process alone; it goes with its last consumer."""
    name = f"{queue}_{os.getpid()}"
    declare(name, has_dead_letters=queue == FAILING, is_passing=True)
    return name


def declare(
    name: str, *, has_dead_letters: bool = False, is_passing: bool = False
) -> None:
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD}
    channel = connect().channel()
    channel.queue_declare(
        name,
        durable=True,
        auto_delete=is_passing,
        arguments=arguments if has_dead_letters else {},
    )
    channel.close()


def cycle(batch: int) -> None:
    taker = consumer(own(PLAIN))
    publisher().publish(own(PLAIN), [BODY] * batch)
    taker.accept(taker.take(batch)[-1])


def die(batch: int, attempts: int) -> int:
    """Fail each message of a batch until it is a dead letter; the client counts."""
    taker = consumer(own(FAILING))
    publisher().publish(own(FAILING), [BODY] * batch)
    for attempt in range(attempts):
        taker.refuse(taker.take(batch)[-1], again=attempt < attempts - 1)
    return batch


def dead_letter_and_bring_back(many: int) -> float:
    """Refuse so many messages, and send each back as its shovel does; seconds.

    A shovel takes from the dead letters, publishes, and acknowledges what is confirmed.
    """
    batches = [AHEAD] * (many // AHEAD)
    for batch in batches:
        publisher().publish(FAILING, [BODY] * batch)
    began = time.perf_counter()
    failing = consumer(FAILING)
    for batch in batches:
        for message in failing.take(batch):
            failing.channel.basic_reject(message.delivery_tag, requeue=False)
    failing.channel.close()  # so that what comes back stays where it is
    dead = consumer(DEAD)
    for batch in batches:
        some = dead.take(batch)
        publisher().publish(FAILING, [bytes(message.body) for message in some])
        dead.accept(some[-1])
    took = time.perf_counter() - began
    dead.channel.close()
    return took
