"""A wire between a client and a server that a test can hold up and cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

READ_BYTES = 65536


class Cuttable:
    """Listens, and passes on to a server what comes; each way until it is stopped."""

    def __init__(self, server_port: int, host: str = "127.0.0.1") -> None:
        self.server = (host, server_port)
        self.listener = socket.create_server((host, 0))
        self.port = int(self.listener.getsockname()[1])
        self.ends: list[socket.socket] = []
        self.answers = threading.Event()  # whether they are passed on
        self.answers.set()
        self.requests_bytes = 0  # that the server was sent
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                self.ends += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(
                        target=self.carry, args=(source, target), daemon=True
                    ).start()

    def carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            is_request = source.getpeername() != self.server
            while data := source.recv(READ_BYTES):
                if is_request:
                    self.requests_bytes += len(data)
                else:
                    self.answers.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def hold_answers(self) -> None:
        """What the server says from now on arrives never."""
        self.answers.clear()

    def cut(self) -> None:
        """Both ways, for the connections that there are; new ones are carried."""
        ends, self.ends = self.ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.answers.set()

    def close(self) -> None:
        self.listener.close()
        self.cut()
