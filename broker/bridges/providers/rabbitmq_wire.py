"""A connection to RabbitMQ: py-amqp's, with read-ahead and steady heartbeats."""

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

READ_BYTES = 256 * 1024  # most bytes of one system call
HEARTBEAT_S = 30
TICK_S = 1.0  # seconds between checks whether a heartbeat is due
PULSE_S = 5.0  # seconds between checks for a heartbeat while the connection is idle
PATIENCE_S = 30.0  # time-out of answers and writes, in seconds
FRAME_END = 0xCE


class ReadsAhead:
    """Reads all available bytes, and splits them into frames."""

    sock: Any
    connected: bool
    ahead = b""  # bytes read; the bytes from ``at`` on are unused
    at = 0

    def at_hand(self) -> Frame | None:
        """The next frame, if it has been read completely."""
        ahead, at = self.ahead, self.at
        if len(ahead) < at + FRAME.size:
            return None
        kind, channel, size = FRAME.unpack_from(ahead, at)
        start = at + FRAME.size
        end = start + size
        if len(ahead) <= end:
            return None
        if ahead[end] != FRAME_END:
            raise UnexpectedFrame("A frame from RabbitMQ has no end octet.")
        self.at = end + 1
        return kind, channel, ahead[start:end]

    def read_frame(self) -> Frame:
        """The next frame; waits with the socket's time-out.

        Raises:
            TimeoutError: it is not complete; the bytes read are kept.
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
    """py-amqp's connection, with a fast path for messages and a time-out everywhere."""

    def __init__(self, **options: Any) -> None:
        self.takers: dict[int, Taker] = {}  # functions that take messages, by channel
        self.is_blocked = False
        super().__init__(
            frame_handler=frame_handler,
            heartbeat=HEARTBEAT_S,
            # py-amqp's default gives up after one second without progress.
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
        """Raise an error, as py-amqp would otherwise reconnect without the channels."""
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
        """Handle all received frames; wait for the first frame. Return whether there
        was a frame.

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
        """Write frames in one system call.

        Raises:
            OSError: the connection broke, or RabbitMQ has stopped reading.
        """
        with self.transport.having_timeout(PATIENCE_S):
            self.transport.write(b"".join(frames))
        self.bytes_sent += 1


Translate = Callable[[Exception, str], ProviderError]


class Wire:
    """A connection for one thread at a time, kept alive in between.

    A paused link makes no calls, perhaps for hours. Meanwhile a thread of the session
    sends the heartbeats.
    """

    def __init__(self, connection: RabbitMQConnection, translate: Translate) -> None:
        self.connection = connection
        self.translate = translate
        self.lock = threading.RLock()
        self.broken: ProviderError | None = None
        self.ticked_at = time.monotonic()

    @contextmanager
    def used(self, where: str, *, asking: bool = False) -> Iterator[RabbitMQConnection]:
        """Use the connection for a call.

        Any error closes it, and RabbitMQ redelivers what was not acknowledged.

        Args:
            where: the destination, for error texts.
            asking: the call is a query on a channel of its own; an error that closes
                only this channel does not close the connection.

        Raises:
            ProviderError: the connection was broken before, or breaks now.
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
        """Send a heartbeat if it is due."""
        now = time.monotonic()
        if now - self.ticked_at > TICK_S:
            self.ticked_at = now
            self.connection.heartbeat_tick()

    def wait(self, wait_s: float) -> bool:
        """Handle received frames, as ``take``, and send heartbeats."""
        came = self.connection.take(min(wait_s, TICK_S))
        self.tick()
        return came

    def pulse(self) -> None:
        """Send heartbeats while the connection is idle; the next use gets any error."""
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
            self.connection.collect()  # free the connection if the close failed


class Heart(threading.Thread):
    """A thread that keeps the connections of a session alive."""

    def __init__(self, wires: list[Wire]) -> None:
        super().__init__(name="rabbitmq-heartbeats", daemon=True)
        self.wires = wires
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(PULSE_S):
            for wire in tuple(self.wires):
                wire.pulse()
