"""A RabbitMQ of a test's own: on its own port, in its own folder, to be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.console.until import until

HOST = "127.0.0.1"
PROGRAMS = Path("/usr/lib/rabbitmq/bin")  # as Debian has it
STARTS_WITHIN_S = 120


def is_installed() -> bool:
    return (PROGRAMS / "rabbitmq-server").exists()


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind((HOST, 0))
        return int(asked.getsockname()[1])


def start(
    folder: Path, plugins: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> Node:
    """A node that answers.

    Args:
        folder: its own, for all that it keeps.
        plugins: such as ``rabbitmq_shovel``.
        settings: lines of its ``rabbitmq.conf``; other ports than AMQP's among them.
    """
    node = Node(folder, plugins, settings or {})
    node.start()
    return node


class Node:
    """One node; its messages outlive a kill, if they are persistent."""

    def __init__(
        self, folder: Path, plugins: Sequence[str], settings: Mapping[str, str]
    ) -> None:
        self.port = free_port()
        self.name = f"backout{self.port}@localhost"
        self.folder = folder
        lines = {"listeners.tcp.local": f"{HOST}:{self.port}"} | dict(settings)
        configuration = "".join(f"{key} = {value}\n" for key, value in lines.items())
        (folder / "rabbitmq.conf").write_text(configuration)
        (folder / "plugins").write_text(f"[{','.join(plugins)}].\n")
        (folder / "environment").touch()  # in place of the machine's own
        self.environment = os.environ | {
            "HOME": str(folder),  # of the cookie
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_CONF_ENV_FILE": str(folder / "environment"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://{HOST}:{self.port}"

    def start(self) -> None:
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [PROGRAMS / "rabbitmq-server"],
                env=self.environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        until(self.answers, STARTS_WITHIN_S)

    def answers(self) -> bool:
        """Whether it listens, and the broker behind that has started."""
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "said").read_text()
        try:
            with socket.create_connection((HOST, self.port), timeout=5) as asked:
                asked.sendall(b"AMQP\x00\x00\x09\x01")
                return bool(asked.recv(1))
        except OSError:
            return False

    def control(self, *arguments: str) -> str:
        """What ``rabbitmqctl`` says."""
        command = [str(PROGRAMS / "rabbitmqctl"), "-q", "-n", self.name, *arguments]
        said = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True
        )
        return str(said.stdout)

    def kill(self) -> None:
        """As a machine ends that loses its power: with nothing said to anybody."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """It says nothing, and its connections stay."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGCONT)
