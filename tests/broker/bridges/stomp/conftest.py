"""The brokers that the tests of STOMP share, and sessions with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count

import pytest

from broker.bridges.providers.interface import Destination, Factory
from broker.bridges.providers.stomp import connect
from broker.bridges.providers.stomp.session import StompSession
from tests.broker.bridges import activemq
from tests.broker.bridges.servers import HOST
from tests.broker.bridges.stomp import rabbitmq

Connected = Callable[[Factory], StompSession]
NUMBERS = count(1)


@pytest.fixture(scope="session")
def amq() -> Iterator[activemq.ActiveMQ]:
    """An ActiveMQ; who kills it starts it again."""
    if why := activemq.why_not():
        pytest.skip(why)
    with activemq.activemq() as server:
        yield server


@pytest.fixture(scope="session")
def rmq() -> Iterator[Factory]:
    """How a RabbitMQ with the plugin for STOMP is reached."""
    if why := rabbitmq.why_not():
        pytest.skip(why)
    with rabbitmq.rabbitmq_node(["rabbitmq_stomp"]) as node:
        yield Factory(
            "rabbitmq",
            "stomp",
            f"stomp://{HOST}:{node.ports_of['rabbitmq_stomp']}",
            rabbitmq.USER,
            rabbitmq.PASSWORD,
        )


@pytest.fixture
def connected() -> Iterator[Connected]:
    """Sessions that are closed in the end."""
    with ExitStack() as opened:
        yield lambda factory: opened.enter_context(closing(connect(factory)))


@pytest.fixture
def queue() -> Destination:
    """One that no other test has used."""
    return Destination(f"t.{next(NUMBERS)}")


@pytest.fixture
def topic() -> Destination:
    return Destination(f"t.{next(NUMBERS)}", is_topic=True)
