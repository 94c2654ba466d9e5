"""A wire that breaks where a test wants it to break."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread

from tests.broker.bridges.servers import HOST

ANSWERS = (b"RECEIPT", b"ERROR")


@dataclass
class Wire:
    """Between one client and a broker.

    Args:
        at: what the client sends when it breaks.
        answered: whether the broker gets that and answers, and only the answer is lost.
        then: what happens before the wire breaks.
    """

    port: int
    at: bytes = b""
    answered: bool = False
    then: Callable[[], None] = lambda: None
    ends: list[socket.socket] = field(default_factory=list)
    is_due: bool = False
    thread: Thread | None = None

    def break_at(
        self, at: bytes, *, answered: bool, then: Callable[[], None] = lambda: None
    ) -> None:
        self.answered, self.then, self.at = answered, then, at

    def to_broker(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                if self.at and self.at in data:
                    if not self.answered:
                        self.then()
                        break
                    self.is_due = True
                target.sendall(data)
        self.cut()

    def to_client(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                if self.is_due and any(answer in data for answer in ANSWERS):
                    self.then()
                    break
                target.sendall(data)
        self.cut()

    def wait(self) -> None:
        """Until all is over that was to happen when it breaks."""
        assert self.thread is not None
        self.thread.join()

    def cut(self) -> None:
        for one in self.ends:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    """A wire for the first who connects to its ``port``."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.create_server((HOST, 0)))
        wire = Wire(listener.getsockname()[1])

        def carry() -> None:
            with suppress(OSError):
                client, _ = listener.accept()
                broker = socket.create_connection((HOST, port))
                wire.ends += [client, broker]
                back = Thread(target=wire.to_client, args=(broker, client))
                back.start()
                wire.to_broker(client, broker)
                back.join()
                client.close()
                broker.close()

        wire.thread = Thread(target=carry)
        wire.thread.start()
        try:
            yield wire
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            wire.cut()
            wire.wait()
