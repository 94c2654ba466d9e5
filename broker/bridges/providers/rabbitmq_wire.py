"""A connection to RabbitMQ: py-amqp's, which reads ahead and loses no heartbeat."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socket import TCP_USER_TIMEOUT
from typing import Any

import amqp
from amqp.exceptions import RecoverableConnectionError, UnexpectedFrame
from amqp.transport import SSLTransport, TCPTransport

from broker.bridges.providers.rabbitmq_frames import (
    FRAME,
    Frame,
    Taker,
    frame_handler,
)
from broker.errors.bridges import ProviderError

READ_BYTES = 256 * 1024  # at most, with one call to the system
HEARTBEAT_S = 30
TICK_S = 1.0  # between looks at whether a heartbeat is due
PULSE_S = 5.0  # the same, while nobody uses the connection
PATIENCE_S = 30.0  # for an answer, and for RabbitMQ to take what is sent
FRAME_END = 0xCE


class ReadsAhead:
    """Reads whatever has come, and cuts it into frames."""

    sock: Any
    connected: bool
    ahead = b""  # what was read, from ``at`` on not yet given
    at = 0

    def at_hand(self) -> Frame | None:
        """The next frame, if all of it was read."""
        ahead, at = self.ahead, self.at
        if len(ahead) < at + FRAME.size:
            return None
        kind, channel, size = FRAME.unpack_from(ahead, at)
        start = at + FRAME.size
        end = start + size
        if len(ahead) <= end:
            return None
        if ahead[end] != FRAME_END:
            raise UnexpectedFrame("A frame of RabbitMQ does not end where it should.")
        self.at = end + 1
        return kind, channel, ahead[start:end]

    def read_frame(self) -> Frame:
        """The next frame; waits for it as long as the socket does.

        Raises:
            TimeoutError: it did not come; what came of it is kept.
            OSError: the connection broke.
        """
        while (frame := self.at_hand()) is None:
            more = self.sock.recv(READ_BYTES)
            if not more:
                self.connected = False
                raise ConnectionResetError("It closed the connection.")
            self.ahead = self.ahead[self.at :] + more
            self.at = 0
        return frame


class Plain(ReadsAhead, TCPTransport):
    pass


class Encrypted(ReadsAhead, SSLTransport):
    pass


class RabbitMQConnection(amqp.Connection):
    """py-amqp's connection, with messages past it and a limit to every wait."""

    def __init__(self, **options: Any) -> None:
        self.takers: dict[int, Taker] = {}  # of messages, by channel
        self.is_blocked = False
        super().__init__(
            frame_handler=frame_handler,
            heartbeat=HEARTBEAT_S,
            # Its default gives up where RabbitMQ takes nothing for a second.
            socket_settings={TCP_USER_TIMEOUT: int(PATIENCE_S * 1000)},
            on_blocked=lambda _: setattr(self, "is_blocked", True),
            on_unblocked=lambda: setattr(self, "is_blocked", False),
            **options,
        )

    def Transport(  # noqa: N802  # its name in py-amqp
        self, host: str, connect_timeout: float, *options: Any, **more: Any
    ) -> Plain | Encrypted:
        (ssl, *_) = options
        if ssl:
            return Encrypted(host, connect_timeout, ssl, **more)
        return Plain(host, connect_timeout, **more)

    def _warn_force_connect(self, attr: str) -> None:
        """It would connect again, unasked, with nothing of what was there."""
        raise RecoverableConnectionError("The connection is closed.")

    def drain_events(self, timeout: float | None = None) -> None:
        super().drain_events(PATIENCE_S if timeout is None else timeout)

    def blocking_read(self, timeout: float | None = None) -> bool:
        frame = self.transport.at_hand()
        if frame is None:
            with self.transport.having_timeout(timeout):
                frame = self.transport.read_frame()
        return bool(self.on_inbound_frame(frame))

    def take(self, wait_s: float) -> bool:
        """Handle all that has come; wait for the first so long. Whether anything had.

        Raises:
            OSError, amqp.AMQPError: the connection or a channel broke.
        """
        try:
            self.blocking_read(max(wait_s, 0))
        except TimeoutError:
            return False
        while (frame := self.transport.at_hand()) is not None:
            self.on_inbound_frame(frame)
        return True

    def write(self, frames: list[bytes]) -> None:
        """Write frames with one call to the system.

        Raises:
            OSError: the connection broke, or RabbitMQ takes nothing any more.
        """
        with self.transport.having_timeout(PATIENCE_S):
            self.transport.write(b"".join(frames))
        self.bytes_sent += 1


Translate = Callable[[Exception, str], ProviderError]


class Wire:
    """A connection that one thread uses at a time, and that stays alive in between.

    A link that is paused calls nothing, perhaps for hours. Meanwhile a thread of the
    session beats in its place.
    """

    def __init__(self, connection: RabbitMQConnection, translate: Translate) -> None:
        self.connection = connection
        self.translate = translate
        self.lock = threading.RLock()
        self.broken: ProviderError | None = None
        self.ticked_at = time.monotonic()

    @contextmanager
    def used(self, where: str, *, asking: bool = False) -> Iterator[RabbitMQConnection]:
        """The connection, for a call.

        Whatever goes wrong ends it, and RabbitMQ gives again what was not acknowledged:
        half of what a channel was for is not kept alive.

        Args:
            where: the destination, for what is said.
            asking: it is used to ask something on a channel that is nobody else's; an
                answer that ends this channel leaves the others as they are.

        Raises:
            ProviderError: it is broken, or breaks now.
        """
        with self.lock:
            if self.broken is not None:
                raise type(self.broken)(*self.broken.args)
            try:
                self.tick()
                yield self.connection
            except (OSError, amqp.AMQPError) as error:
                said = self.translate(error, where)
                if not (asking and isinstance(error, amqp.ChannelError)):
                    self.broken = said
                    self.connection.collect()
                raise said from error

    def tick(self) -> None:
        """Send a heartbeat where it is time."""
        now = time.monotonic()
        if now - self.ticked_at > TICK_S:
            self.ticked_at = now
            self.connection.heartbeat_tick()

    def wait(self, wait_s: float) -> bool:
        """Handle what has come, as ``take``; heartbeats go on."""
        came = self.connection.take(min(wait_s, TICK_S))
        self.tick()
        return came

    def pulse(self) -> None:
        """As long as nobody uses it; what breaks is told at the next use."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            with suppress(ProviderError), self.used("") as connection:
                connection.take(0)
        finally:
            self.lock.release()

    def close(self) -> None:
        with self.lock:
            with suppress(OSError, amqp.AMQPError):
                if self.connection.connected:
                    self.connection.close()
            self.connection.collect()  # where it did not answer well


class Heart(threading.Thread):
    """Keeps the wires of a session alive."""

    def __init__(self, wires: list[Wire]) -> None:
        super().__init__(name="rabbitmq-heartbeats", daemon=True)
        self.wires = wires
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(PULSE_S):
            for wire in tuple(self.wires):
                wire.pulse()
