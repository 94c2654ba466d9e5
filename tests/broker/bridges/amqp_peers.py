"""Other brokers that speak AMQP 1.0, for tests: RabbitMQ is started, ActiveMQ is named.

RabbitMQ runs beside the machine's own, with its plugin, a folder, ports and an epmd
that are its own. ActiveMQ's AMQP is in no package of Debian's, so that it runs where
``BACKOUT_TEST_ACTIVEMQ`` says (``127.0.0.1:5672``), with the user guest.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from broker.bridges.providers.interface import Factory
from tests.console.until import until

SERVERS = Path("/usr/lib/rabbitmq/lib")
STARTS_WITHIN_S = 120.0
ENDS_WITHIN_S = 30.0
ACTIVEMQ = "BACKOUT_TEST_ACTIVEMQ"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextmanager
def rabbitmq(folder: Path) -> Iterator[Factory]:
    """A node of RabbitMQ with AMQP 1.0; skipped where it is not installed."""
    server = next(SERVERS.glob("rabbitmq_server-*/sbin/rabbitmq-server"), None)
    epmd = shutil.which("epmd")
    if server is None or epmd is None:
        pytest.skip("rabbitmq-server is not installed")
    port, names_port = free_port(), free_port()
    (folder / "plugins").write_text("[rabbitmq_amqp1_0].\n")
    (folder / "rabbit.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{port}\n")
    environment = os.environ | {
        "HOME": str(folder),
        "RABBITMQ_NODENAME": "bridges@localhost",
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbit.conf"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "ERL_EPMD_PORT": str(names_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_FLAGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    log = folder / "out"
    with log.open("wb") as out:
        names = start([epmd, "-port", str(names_port)], environment, out.fileno())
        until(lambda: listens(names_port), STARTS_WITHIN_S)
        node = start([str(server)], environment, out.fileno())
    try:
        until(lambda: listens(port) or node.poll() is not None, STARTS_WITHIN_S)
        assert node.poll() is None, log.read_text()
        prefixes = {"queue-prefix": "/queue/", "topic-prefix": "/topic/"}
        yield factory("rabbitmq", port, prefixes)
    finally:
        for one in (node, names):
            one.terminate()
            one.wait(ENDS_WITHIN_S)


def start(
    command: list[str], environment: dict[str, str], out: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
    )


def activemq() -> Factory:
    """ActiveMQ, where it runs."""
    where = os.environ.get(ACTIVEMQ)
    if not where:
        pytest.skip(f"{ACTIVEMQ} does not say where an ActiveMQ with AMQP is")
    return factory("activemq", int(where.rpartition(":")[2]), {})


def factory(name: str, port: int, properties: dict[str, str]) -> Factory:
    return Factory(
        name,
        "amqp",
        f"amqp://127.0.0.1:{port}",
        username="guest",
        password="guest",
        properties=properties,
    )
