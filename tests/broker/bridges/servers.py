"""What the brokers that tests start have in common: a process that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.console.until import until

HOST = "127.0.0.1"
START_S, STOP_S = 120.0, 30.0  # on a machine that does much else


class Server:
    """One broker, in a folder of its own, and what to do with it."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        env: Mapping[str, str],
        ports: Sequence[int],
    ) -> None:
        """
        Args:
            ports: at which it answers once it is ready.
        """
        self.folder = folder
        self.command = command
        self.env = dict(os.environ) | dict(env)
        self.ports = ports
        self.log = folder / "output.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it on whatever its folder has, and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # all of its processes can be ended together
            )
        until(self.is_ready, START_S)

    def is_ready(self) -> bool:
        process = self.process
        assert process is not None
        assert process.poll() is None, self.log.read_text(errors="replace")[-4000:]
        return all(map(answers, self.ports))

    def kill(self) -> None:
        """What a power cut does."""
        self.signal(signal.SIGKILL)
        self.wait()
        until(lambda: not any(map(answers, self.ports)), STOP_S)

    def stop(self) -> None:
        """End it in its own way."""
        self.signal(signal.SIGTERM)
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self.kill()

    def freeze(self) -> None:
        """It keeps its connections and does nothing."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def wait(self) -> None:
        if self.process is not None:
            self.process.wait(STOP_S)
            self.process = None


def answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
