"""One connection: the protocol engine on a socket, driven by the calling thread.

The socket is non-blocking. While a caller waits, it writes and reads. So two peers that
both write cannot deadlock, and heartbeats are sent.
"""

from __future__ import annotations

import select
import ssl
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NoReturn

from django.conf import settings

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol.conditions import AmqpError, Error
from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.events import (
    Attached,
    Begun,
    Closed,
    Detached,
    Disposed,
    Drained,
    Ended,
    Event,
    Flowed,
    MessageReceived,
    Opened,
    Resumed,
)
from broker.amqp.protocol.session import Session
from broker.bridges.providers.amqp.dialling import dial, reason
from broker.bridges.providers.amqp.options import Options
from broker.bridges.providers.amqp.refusals import words
from broker.bridges.providers.interface import Destination
from broker.errors.bridges import AccessRefused, ProviderLost, WrongFactory

READ_BYTES = 262_144
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
AROUND = 2**20  # bytes that a message needs besides its body
GOODBYE_S = 5.0  # time to wait for the answer to our close
UNASKED = "This client attaches its own links; the peer must not attach any."
PRODUCT = {"product": "Backout"}


class Wire:
    """An open connection with one session.

    All links share the session, as a transaction is valid in one session only.

    Attributes:
        why: the reason that the connection is lost; empty while it is not.
        error: the provider's error, if it gave one.
    """

    def __init__(self, options: Options) -> None:
        """Connect, log in and open.

        Raises:
            ProviderLost, AccessRefused, WrongFactory: see ``interface.Connect``.
        """
        self.options = options
        self.why = ""
        self.error: Error | None = None
        self.connection = Connection(
            options.container_id,
            is_server=False,
            limits=limits(),
            hostname=options.hostname,
            idle_timeout_ms=int(options.idle_timeout_s * 1000),
            properties=PRODUCT,
        )
        self.unwritten = bytearray()
        self.socket, came = dial(options)
        self.poll = select.poll()
        self.poll.register(self.socket, select.POLLIN)
        self.connection.open()
        self.session: Session = self.connection.begin()
        self.look_at = -1.0  # time of the next check of the idle time-outs
        self.begin(came)

    def begin(self, came: bytes) -> None:
        try:
            self.hear(came)
            self.until(lambda: self.session.begin, "open the connection")
        except ProviderLost as lost:
            raise not_opened(self, lost) from lost

    @property
    def is_rabbitmq(self) -> bool:
        """Whether the provider is RabbitMQ, which grants some features that it does not
        have."""
        return self.remote_property("product") == "RabbitMQ"

    @property
    def is_activemq(self) -> bool:
        """Whether the provider is ActiveMQ Classic; Artemis has another product
        name."""
        return self.remote_property("product") == "ActiveMQ"

    def remote_property(self, name: str) -> str:
        """A property of the provider's open; empty if the open does not have it."""
        remote = self.connection.remote
        found = (remote.properties if remote is not None else None) or {}
        value = found.get(name)
        return value if isinstance(value, str) else ""

    def address(self, destination: Destination) -> str:
        """The provider's address of a destination."""
        if destination.is_topic:
            prefix, name = self.options.topic_prefix, "topic-prefix"
        else:
            prefix, name = self.options.queue_prefix, "queue-prefix"
        return (
            self.remote_property(name) if prefix is None else prefix
        ) + destination.name

    # Waiting for the provider.

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until a condition holds.

        Args:
            what: what the provider must do, for the error text.

        Raises:
            ProviderLost: the connection broke, or the time is over.
        """
        wait_s = self.options.timeout_s
        deadline = monotonic() + wait_s
        while not holds():
            left_s = deadline - monotonic()
            if left_s <= 0:
                self.lose(f"The provider did not {what} within {wait_s:g} seconds.")
            self.pump(left_s)

    def flush(self) -> None:
        """Write all output of the engine; return when all is written."""
        self.write()
        self.until(lambda: not self.unwritten, "read the data that was sent")

    def pump(self, wait_s: float = 0.0) -> None:
        """Write and read as far as possible; if nothing came, wait once.

        Raises:
            ProviderLost: the connection broke.
        """
        self.check()
        self.write()
        came = self.read()
        now = monotonic()
        if now >= self.look_at:
            self.look(now)
        self.write()
        if came or wait_s <= 0:
            return
        wanted = select.POLLIN | (select.POLLOUT if self.unwritten else 0)
        self.poll.modify(self.socket, wanted)
        if self.poll.poll(max(0.0, min(wait_s, self.look_at - now)) * 1000):
            self.read()
            self.write()

    def look(self, now: float) -> None:
        """Check the idle time-outs of both sides."""
        self.look_at = self.connection.tick(now)
        self.hear(b"")

    def check(self) -> None:
        """Check the connection.

        Raises:
            ProviderLost: the connection is lost.
        """
        if self.why:
            raise ProviderLost(self.options.factory, self.why)

    # Reading and writing bytes.

    def write(self) -> None:
        """Write as much as the socket takes now."""
        if data := self.connection.outgoing():
            self.unwritten += data
        try:
            while self.unwritten:
                written = self.socket.send(self.unwritten)
                del self.unwritten[:written]
        except NOT_NOW:
            return
        except OSError as error:
            self.read()  # the provider may have sent a last error
            self.lose(f"The connection broke: {reason(error)}.")

    def read(self) -> bool:
        """Read all available bytes; return whether there were any."""
        came = False
        while True:
            try:
                data = self.socket.recv(READ_BYTES)
            except NOT_NOW:
                return came
            except OSError as error:
                self.lose(f"The connection broke: {reason(error)}.")
            if not data:
                self.lose("The provider closed the connection.")
            came = True
            self.hear(data)

    def hear(self, data: bytes) -> None:
        for event in self.connection.receive(data):
            self.take(event)
        if self.why:
            self.farewell()
            self.check()

    def take(self, event: Event) -> None:
        match event:
            case Closed():
                self.why = f"The provider closed the connection: {words(event.error)}."
                if not event.by_peer:
                    self.why = f"The connection cannot go on: {words(event.error)}."
                self.error = event.error
            case Ended():
                self.why = f"The provider ended the session: {words(event.error)}."
                self.error = event.error
            case Opened():
                self.look_at = -1.0  # the provider's idle time-out is known now
            case Begun() | Resumed():
                pass  # callers that wait check their conditions themselves
            case _:
                endpoint = endpoint_of(event)
                if endpoint.context is None:  # the provider has attached this endpoint
                    endpoint.refuse(AmqpError(c.NOT_ALLOWED, UNASKED))
                else:
                    endpoint.context.handle_event(event)

    # The end of the connection.

    def lose(self, why: str) -> NoReturn:
        """Close the socket, and raise ``ProviderLost``."""
        self.why = self.why or why
        self.socket.close()
        raise ProviderLost(self.options.factory, self.why)

    def farewell(self) -> None:
        """Write the engine's last output if possible at once, and close the socket."""
        self.connection.close()
        with suppress(OSError):  # OSError includes NOT_NOW
            self.socket.send(self.unwritten + self.connection.outgoing())
        self.socket.close()

    def close(self) -> None:
        """Close in order; no effect if it is closed."""
        if self.why:
            return
        self.connection.close()
        deadline = monotonic() + min(GOODBYE_S, self.options.timeout_s)
        try:
            while (left_s := deadline - monotonic()) > 0:
                self.pump(left_s)
        except ProviderLost:  # the provider has answered, or has hung up
            return
        self.why = "The connection was closed here."
        self.socket.close()


def limits() -> Limits:
    """Limits of received messages: not larger than this broker can store."""
    most: int = settings.BROKER_MAX_MESSAGE_BYTES + AROUND
    return Limits(max_message_bytes=most, partial_bytes=most)


def endpoint_of(
    event: Attached | MessageReceived | Flowed | Drained | Disposed | Detached,
) -> Endpoint:
    match event:
        case MessageReceived() | Drained():
            return event.receiver
        case Flowed():
            return event.sender
        case _:
            return event.endpoint


def not_opened(wire: Wire, lost: ProviderLost) -> Exception:
    """The error of a connection that failed between login and open."""
    name, condition = wire.options.factory, wire.error and wire.error.condition
    if condition in (c.UNAUTHORIZED_ACCESS, c.NOT_ALLOWED):
        return AccessRefused(name, lost.why)
    if condition == c.NOT_FOUND:
        return WrongFactory(name, f"{lost.why} Correct the property hostname.")
    return lost
