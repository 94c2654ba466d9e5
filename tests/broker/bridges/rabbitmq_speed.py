"""How fast RabbitMQ gives and takes, beside its own shovel: by hand, not a test.

    manage.py shell -c "from tests.broker.bridges import rabbitmq_speed as it; it.run()"

One node of its own does all. The shovel moves messages within it, confirmed. Ours are
received and acknowledged, or published and confirmed, in order, which is checked.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from broker.bridges.providers.interface import Destination
from broker.queueing.store import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges import rabbitmq_node
from tests.broker.bridges.rabbitmq_node import Node

MESSAGES = 30_000
BODY = b"x" * 1024
ROUNDS = 3
BATCHES = (100, 1000)


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        node = rabbitmq_node.start(Path(folder), ["rabbitmq_shovel"])
        try:
            for _ in range(ROUNDS):
                measure(node)
        finally:
            node.kill()


def measure(node: Node) -> None:
    with (
        machine.queue(port=node.port) as orders,
        machine.queue(port=node.port) as others,
    ):
        for batch in BATCHES:
            tell(f"publish and confirm, {batch}", partial(publish, node, orders, batch))
            tell(
                f"receive and acknowledge, {batch}", partial(take, node, orders, batch)
            )
        publish(node, orders, 1000)
        tell("shovel, on-confirm", partial(shovel, node, orders, others))


def tell(what: str, act: Callable[[], float]) -> None:
    cpu = time.process_time()
    seconds = act()
    micros = (time.process_time() - cpu) / MESSAGES * 1e6
    print(f"{what:32} {MESSAGES / seconds:8,.0f}/s  {micros:5.1f} µs of ours each")


def publish(node: Node, orders: Destination, batch: int) -> float:
    messages = [
        NewMessage(
            orders.name,
            BODY,
            "text/plain",
            {"number": number, "region": "north", "price": 1.5},
            correlation_id=f"order {number}",
        )
        for number in range(MESSAGES)
    ]
    with machine.session(node.port) as session:
        began = time.perf_counter()
        for start in range(0, MESSAGES, batch):
            refused = session.send(messages[start : start + batch], orders)
            assert not any(refused)
        return time.perf_counter() - began


def take(node: Node, orders: Destination, batch: int) -> float:
    number = 0
    with machine.session(node.port) as session:
        began = time.perf_counter()
        subscription = session.subscribe(orders, prefetch=3 * batch)
        while number < MESSAGES:
            received = subscription.receive(batch, 10)
            for one in received:
                assert one.message.properties["number"] == number
                number += 1
            subscription.acknowledge(received)
        took = time.perf_counter() - began
        subscription.close()
    return took


def shovel(node: Node, source: Destination, target: Destination) -> float:
    definition = {
        "src-protocol": "amqp091",
        "src-uri": node.url,
        "src-queue": source.name,
        "dest-protocol": "amqp091",
        "dest-uri": node.url,
        "dest-queue": target.name,
        "ack-mode": "on-confirm",
    }
    node.control("set_parameter", "shovel", "measured", json.dumps(definition))
    with machine.looking(node.port) as channel:
        came, began, here = 0, 0.0, 0
        while came < MESSAGES:
            time.sleep(0.02)
            came = channel.queue_declare(target.name, passive=True).message_count
            if came and not began:
                began, here = time.perf_counter(), came
    took = time.perf_counter() - began
    node.control("clear_parameter", "shovel", "measured")
    return took * MESSAGES / (MESSAGES - here)
