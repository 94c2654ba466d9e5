"""A stretch of network between a client and a server, which a test can break."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"


class Between:
    """Passes on what both sides say, until it is told otherwise.

    Attributes:
        port: to which the client connects.
        is_deaf: answers of the server are taken and not passed on.
        cuts_behind: once these bytes have come from the client and gone on to the
            server, both connections are cut.
    """

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.is_deaf = False
        self.cuts_behind: bytes | None = None
        self.sockets: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.door = socket.create_server((HOST, 0))
        self.port: int = self.door.getsockname()[1]
        self.run(self.accept)

    def run(self, does: object, *of: object) -> None:
        assert callable(does)
        thread = threading.Thread(target=does, args=of)
        self.threads.append(thread)
        thread.start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            server = socket.create_connection((HOST, self.server_port))
            self.sockets += [client, server]
            self.run(self.carry, client, server)
            self.run(self.carry_back, server, client)

    def carry(self, client: socket.socket, server: socket.socket) -> None:
        for data in self.read(client):
            cuts = self.cuts_behind is not None and self.cuts_behind in data
            self.is_deaf |= cuts
            self.say(server, data)
            if cuts:
                self.cut()

    def carry_back(self, server: socket.socket, client: socket.socket) -> None:
        for data in self.read(server):
            if not self.is_deaf:
                self.say(client, data)

    def say(self, one: socket.socket, data: bytes) -> None:
        with suppress(OSError):  # it has gone
            one.sendall(data)

    def read(self, one: socket.socket) -> Iterator[bytes]:
        with suppress(OSError):
            while data := one.recv(65536):
                yield data
        self.cut()

    def cut(self) -> None:
        """Both sides find the connection broken."""
        for one in self.sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()
        self.cut()
        for thread in self.threads:
            thread.join(10)
        for one in self.sockets:
            one.close()


@contextmanager
def between(server_port: int) -> Iterator[Between]:
    made = Between(server_port)
    try:
        yield made
    finally:
        made.close()
