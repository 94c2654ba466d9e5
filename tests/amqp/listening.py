"""A real listener in a thread of the test's process, and a client to talk to it.

It has an event loop of its own, and commits for real: use it with ``transactional_db``.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.contrib.auth.models import User

from broker.amqp.clients.login import Access
from broker.amqp.clients.tls import Certificates
from broker.amqp.limits import ListenerLimits
from broker.amqp.listener import Listener
from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.events import (
    Attached,
    Closed,
    Disposed,
    Ended,
    Event,
    Flowed,
    MessageReceived,
    Opened,
)
from broker.amqp.protocol.performatives import Accepted, Source, Target
from broker.amqp.protocol.sasl.server import ClientSasl
from broker.amqp.protocol.sections import DATA, encode_section
from tests.make import make_queue

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Event)

WITHIN_S = 30.0  # where much else goes on
HOST = "127.0.0.1"
PASSWORD = "open sesame"


class Loop(asyncio.SelectorEventLoop):
    """Its clock can be put forward, so that nobody has to hurry, or to wait."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


@dataclass
class Listening:
    """Where a listener is, and who may log in."""

    listener: Listener
    loop: Loop
    port: int
    tls_port: int
    user: User
    password: str = PASSWORD
    host: str = HOST
    wires: list[Wire] = field(default_factory=list)
    stopped: Future[None] | None = None

    @property
    def url(self) -> str:
        return f"amqp://{self.user.username}:sesame@{self.host}:{self.port}"

    def call(self, ask: Callable[[], Result]) -> Result:
        """Ask something in the loop's thread."""

        async def asked() -> Result:
            return ask()

        return asyncio.run_coroutine_threadsafe(asked(), self.loop).result(WITHIN_S)

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds in the loop's thread."""

        async def watch() -> None:
            while not holds():
                await asyncio.sleep(0.005)

        future = asyncio.run_coroutine_threadsafe(watch(), self.loop)
        future.result(WITHIN_S)

    def later(self, seconds: float) -> None:
        """Put the clock of the listener forward."""

        def put_forward() -> None:
            self.loop.ahead_s += seconds

        self.call(put_forward)

    def begin_to_stop(self) -> Future[None]:
        """As at SIGTERM; the end of the test does no more than that."""
        if self.stopped is None:
            ending = self.listener.stop()
            self.stopped = asyncio.run_coroutine_threadsafe(ending, self.loop)
        return self.stopped

    def client(self, **options: Any) -> Wire:
        """A client that is logged in, as the user by default, and open."""
        wire = self.dial()
        wire.log_in(**{"user": self.user.username, "password": self.password} | options)
        return wire

    def dial(self, context: ssl.SSLContext | None = None) -> Wire:
        """A client that has said nothing yet."""
        port = self.port if context is None else self.tls_port
        made = socket.create_connection((self.host, port), timeout=WITHIN_S)
        wire = Wire(made)
        self.wires.append(wire)
        if context is not None:
            wire.socket = context.wrap_socket(made, server_hostname="localhost")
        return wire


@dataclass
class Wire:
    """A client of the tests: our own engine on a blocking socket."""

    socket: socket.socket
    connection: Connection = field(
        default_factory=lambda: Connection("test", is_server=False)
    )
    events: list[Event] = field(default_factory=list)
    sasl: ClientSasl | None = None

    def log_in(
        self,
        *,
        user: str = "",
        password: str = "",
        mechanisms: tuple[str, ...] = ("PLAIN",),
        **fields: Any,
    ) -> None:
        """Log in and open; ``fields`` are those of the open.

        Raises:
            AmqpError: it is not let in.
        """
        self.authenticate(user, password, mechanisms)
        self.open(**fields)

    def authenticate(
        self, user: str, password: str, mechanisms: tuple[str, ...] = ("PLAIN",)
    ) -> None:
        self.sasl = sasl = ClientSasl(mechanisms, user=user, password=password)
        while not sasl.over:
            self.socket.sendall(sasl.outgoing())
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("the listener hung up")
            sasl.receive(data)
        if sasl.error is not None:
            raise sasl.error
        self.take(sasl.rest())

    def open(self, **fields: Any) -> Opened:
        self.connection.open(**fields)
        return self.expect(Opened)

    def send(self) -> None:
        """Write what the engine has."""
        if data := self.connection.outgoing():
            self.socket.sendall(data)

    def take(self, data: bytes) -> None:
        self.events += self.connection.receive(data)

    def expect(self, kind: type[Kind], **fields: Any) -> Kind:
        """The next event of a kind, with these attributes; it is waited for."""
        while True:
            for event in self.events:
                if isinstance(event, kind) and all(
                    getattr(event, name) == value for name, value in fields.items()
                ):
                    self.events.remove(event)
                    return event
            self.send()
            data = self.socket.recv(65536)
            assert data, f"the listener hung up; there were {self.events}"
            self.take(data)

    def works(self, queue: str = "orders") -> None:
        """Put a message and get it again, on a queue that nobody else uses now."""
        session = self.connection.begin()
        name = f"{self.connection.own.container_id}-{queue}"
        puts = session.sender(name, Source(), Target(queue))
        self.expect(Attached, endpoint=puts)
        while not puts.credit:
            self.expect(Flowed, sender=puts)
        body = secrets.token_bytes(8)
        sent = puts.send(encode_section(DATA, body), tag=body)
        outcome = self.expect(Disposed, endpoint=puts)
        assert (outcome.deliveries, outcome.state) == ([sent], Accepted())
        gets = session.receiver(name, Source(queue), Target())
        self.expect(Attached, endpoint=gets)
        gets.grant(1)
        got = self.expect(MessageReceived, receiver=gets).delivery
        assert body in got.payload
        session.settle([got], Accepted())
        session.end()
        self.expect(Ended, session=session)

    def closed(self) -> Closed:
        """How the listener closes the connection."""
        event = self.expect(Closed)
        self.send()
        return event

    def hung_up(self) -> bytes:
        """What comes until the listener hangs up; the engine is not asked."""
        read = b""
        try:
            while data := self.socket.recv(65536):
                read += data
        except ConnectionResetError:
            pass
        return read

    def close(self) -> None:
        """Close in order."""
        self.connection.close()
        self.send()
        self.hung_up()
        self.socket.close()

    def drop(self) -> None:
        """Go without a word."""
        self.socket.close()


@contextmanager
def listener(
    *,
    access: Access | None = None,
    certificates: Certificates | None = None,
    user: User | None = None,
    **limits: Any,
) -> Iterator[Listening]:
    """Run a listener on ports that are free.

    Args:
        access: by what clients may log in; by default as in production.
        certificates: for TLS, on ``tls_port``.
        user: with the password ``PASSWORD``; by default a superuser is made.
        limits: that differ from the settings.
    """
    if user is None:
        user = User.objects.create_superuser("amelia", password=PASSWORD)
    loop = Loop()
    thread = threading.Thread(target=loop.run_forever, name="listener")
    thread.start()

    async def begin() -> Listener:
        made = Listener(ListenerLimits.from_settings(**limits), access, certificates)
        await made.start(HOST, 0, 0)
        return made

    try:
        made = asyncio.run_coroutine_threadsafe(begin(), loop).result(WITHIN_S)
        here = Listening(made, loop, made.ports[0], made.ports[-1], user)
        try:
            yield here
        finally:
            for wire in here.wires:
                wire.socket.close()
            here.begin_to_stop().result(3 * WITHIN_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WITHIN_S)
        loop.close()


@contextmanager
def beside_a_good_client(**limits: Any) -> Iterator[Listening]:
    """A listener with a client that puts and gets before, and after, and at the end
    with another one, whatever happens."""
    make_queue("orders")
    with listener(**limits) as here:
        good = here.client(container_id="good")
        good.works()
        yield here
        good.works()
        here.client(container_id="another").works()


__all__ = ["HOST", "PASSWORD", "Listening", "Wire", "beside_a_good_client", "listener"]
