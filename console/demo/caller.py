"""A minimal AMQP 1.0 client on asyncio, for the demonstration.

It logs in, begins one session, and passes incoming events to its program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Protocol, cast

from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.events import Closed, Detached, Ended, Event
from broker.amqp.protocol.sasl.client import ClientSasl
from broker.amqp.protocol.session import Session

IDLE_TIMEOUT_MS = 60_000
MECHANISMS = ("SCRAM-SHA-256", "PLAIN")  # preferred first


class Program(Protocol):
    """The application of a client, with one link endpoint in one session."""

    flush: Callable[[], None]  # to be called after sending outside of ``handle_event``

    def begin(self, session: Session) -> None:
        """The session has begun; attach an endpoint."""

    def handle_event(self, event: Event) -> None:
        """An event from the peer."""


class Caller(asyncio.Protocol):
    """One connection of a client.

    Attributes:
        over: done when the connection has ended; the result is the reason, as text.
    """

    def __init__(
        self, program: Program, *, container_id: str, user: str, secret: str
    ) -> None:
        """Begin, in a running loop; nothing is connected yet."""
        self.loop = asyncio.get_running_loop()
        self.program = program
        program.flush = self.flush
        self.sasl = ClientSasl(MECHANISMS, user=user, password=secret)
        self.connection = Connection(
            container_id,
            is_server=False,
            idle_timeout_ms=IDLE_TIMEOUT_MS,
            properties={"product": "Backout's demonstration"},
        )
        self.over: asyncio.Future[str] = self.loop.create_future()
        self.transport: asyncio.Transport | None = None
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.flush()

    def data_received(self, data: bytes) -> None:
        if not self.sasl.over:
            self.sasl.receive(data)
            if self.sasl.error is not None:
                self.leave(self.sasl.error.description)
                return
            if not self.sasl.succeeded:
                self.flush()
                return
            data = self.sasl.rest()
            self.log_in()
        self.take(data)

    def log_in(self) -> None:
        """Open the connection after SASL, and begin the session for the program."""
        self.connection.open()
        self.program.begin(self.connection.begin())
        self.tick()

    def take(self, data: bytes) -> None:
        for event in self.connection.receive(data):
            self.program.handle_event(event)
            if isinstance(event, Detached | Ended | Closed):
                self.close(words(event))
                return
        self.flush()

    def tick(self) -> None:
        """Check for timeouts, now and at each deadline."""
        again = self.connection.tick(self.loop.time())
        if again < inf:
            self.timer = self.loop.call_at(again, self.tick)
        self.take(b"")

    def flush(self) -> None:
        """Write pending output; call this after sending."""
        if self.transport is None or self.transport.is_closing():
            return
        self.transport.write(self.sasl.outgoing() + self.connection.outgoing())

    def close(self, why: str) -> None:
        """Close the connection without waiting for the peer."""
        self.connection.close()
        self.flush()
        self.leave(why)

    def leave(self, why: str) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if not self.over.done():
            self.over.set_result(why)
        if self.transport is not None:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.leave(str(error or "the connection is gone"))


def words(event: Detached | Ended | Closed) -> str:
    if event.error is None:
        return "the listener closed it"
    return f"{event.error.condition}: {event.error.description}"
