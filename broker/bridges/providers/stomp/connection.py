"""A STOMP connection for one calling thread.

stomp.py reads in a thread of its own, which puts frames into a queue. This module takes
the frames out: receipts and errors go to the waiting caller, messages to their
subscription.
"""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import NoReturn

import stomp
from stomp.exception import StompException
from stomp.protocol import Protocol12
from stomp.utils import Frame

from broker.bridges.providers.stomp import refusals
from broker.bridges.providers.stomp.dialects import Dialect, dialect_of
from broker.bridges.providers.stomp.options import Options
from broker.bridges.providers.stomp.transport import Transport
from broker.errors.bridges import ProviderLost, WrongFactory

WINDOW = 100  # most frames to send before waiting for their receipts
LAST_WORDS_S = 1.0  # seconds to continue reading after a failed write
PARTING_S = 5.0  # seconds to wait for the answer to DISCONNECT


class Protocol(Protocol12):  # type: ignore[misc]  # has no types
    """Sends heartbeats twice as often as announced: servers tolerate no delay."""

    def on_connected(self, frame: Frame) -> None:
        sends, wants = frame.headers.get("heart-beat", "0,0").split(",")
        frame.headers["heart-beat"] = f"{sends},{int(wants) // 2}"
        promised, wanted = self.heartbeats
        self.heartbeats: tuple[int, int] = promised // 2, wanted
        super().on_connected(frame)


class Frames(stomp.ConnectionListener):  # type: ignore[misc]  # has no types
    """Puts received frames into a queue for the calling thread; None: the end."""

    def __init__(self, queue: SimpleQueue[Frame | None]) -> None:
        self.queue = queue

    def on_connected(self, frame: Frame) -> None:
        self.queue.put(frame)

    on_message = on_receipt = on_error = on_connected

    def on_disconnected(self) -> None:
        self.queue.put(None)


class StompConnection:
    """A connection that has logged in."""

    def __init__(self, options: Options) -> None:
        """Connect and log in.

        Raises:
            ProviderLost, AccessRefused, WrongFactory: see ``interface.Connect``.
        """
        self.options = options
        # Received messages, by subscription.
        self.messages: dict[str, deque[Frame]] = {}
        # The reason that the connection is lost, as the end of a sentence; empty:
        # connected.
        self.lost = ""
        self.error: Frame | None = None  # last ERROR without a receipt id
        self.answers: dict[str, Frame] = {}  # receipts and errors, by receipt id
        self.numbers = count(1)
        self.frames: SimpleQueue[Frame | None] = SimpleQueue()
        self.transport = Transport(options)
        beat = options.heartbeat_ms
        self.protocol = Protocol(self.transport, (beat, beat))
        self.transport.set_listener("frames", Frames(self.frames))
        self.reach()
        self.dialect = self.log_in()

    def reach(self) -> None:
        """Connect.

        Raises:
            ProviderLost: the server does not answer.
            WrongFactory: the server's certificate is not trusted.
        """
        name, place = self.options.name, self.options.place
        try:
            self.transport.start()
        except ssl.SSLCertVerificationError as error:
            why = f"The certificate of {place} is not trusted: {error.verify_message}."
            raise WrongFactory(name, f"{why} Name its issuer in ca-file.") from error
        except OSError as error:
            raise ProviderLost(name, f"{place} does not answer: {error}.") from error

    def log_in(self) -> Dialect:
        """Log in; return the dialect of the server.

        Raises:
            ProviderLost, AccessRefused, WrongFactory: see ``interface.Connect``.
        """
        factory = self.options.factory
        client_id = as_login(factory.client_id)
        headers = {} if client_id is None else {"client-id": client_id}
        try:
            self.protocol.connect(
                as_login(factory.username),
                as_login(factory.password),
                headers=headers,
                with_connect_command=True,
            )
            answer = self.frames.get(timeout=factory.connect_timeout_s)
        except (OSError, StompException) as error:
            self.lose(f"it broke: {error!r}")
        except Empty:
            self.lose(
                f"there was no CONNECTED frame within {factory.connect_timeout_s:g} s"
            )
        if answer is None:
            self.lose("the server closed it before it sent CONNECTED")
        if answer.cmd != "CONNECTED":
            self.transport.disconnect_socket()
            raise refusals.at_login(self.options, answer)
        return dialect_of(answer.headers.get("server", ""))

    def tell(self, command: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send a frame.

        Raises:
            ProviderLost: the connection broke.
        """
        self.check()
        try:
            self.protocol.send_frame(command, dict(headers), body)
        except (AttributeError, OSError, StompException) as error:
            self.hear_out()
            self.lose(f"it broke while {command} was sent: {error!r}")

    def hear_out(self) -> None:
        """Continue reading: a server sends the reason before it closes a connection."""
        deadline = monotonic() + LAST_WORDS_S
        while not self.lost and self.take(deadline):
            pass

    def ask(self, command: str, headers: Mapping[str, str], body: bytes = b"") -> str:
        """Send a frame with a receipt request.

        Returns:
            The receipt id.

        Raises:
            ProviderLost: the connection broke.
        """
        receipt = f"r{next(self.numbers)}"
        self.tell(command, {**headers, "receipt": receipt}, body)
        return receipt

    def wait(self, receipts: Sequence[str]) -> list[Frame]:
        """Wait for the answers of all receipts.

        Returns:
            The answers, each RECEIPT or ERROR.

        Raises:
            ProviderLost: the connection broke, or no answer came in time.
        """
        deadline = monotonic() + self.options.reply_s
        for receipt in receipts:
            while receipt not in self.answers:
                self.check()
                if not self.take(deadline):
                    self.lose(f"there was no answer in {self.options.reply_s:g} s")
        return [self.answers.pop(receipt) for receipt in receipts]

    def take(self, deadline: float = 0.0) -> bool:
        """Take and dispatch the next frame.

        Args:
            deadline: the time to wait until, on the clock of ``monotonic``.

        Returns:
            False if none came.
        """
        try:
            frame = self.frames.get(timeout=max(deadline - monotonic(), 0.0))
        except Empty:
            return False
        if frame is None:
            why = (
                refusals.error_text(self.error)
                if self.error
                else "the server closed it"
            )
            self.lost = self.lost or why
        elif frame.cmd == "MESSAGE":
            self.messages.get(frame.headers.get("subscription", ""), deque()).append(
                frame
            )
        elif "receipt-id" in frame.headers:
            self.answers[frame.headers["receipt-id"]] = frame
        elif frame.cmd == "ERROR":
            self.error = frame
            if not self.dialect.goes_on:
                self.lost = self.lost or refusals.error_text(frame)
        return True

    def check(self) -> None:
        """Check the connection.

        Raises:
            ProviderLost: the connection broke.
        """
        if self.lost:
            self.lose(self.lost)

    def forget_error(self) -> None:
        """Discard earlier errors, so that they are not taken for errors of later
        frames.

        Raises:
            ProviderLost: the connection broke.
        """
        while self.take():
            pass
        self.check()
        self.error = None

    def last_error(self) -> Frame | None:
        """The last ERROR without a receipt id, if any."""
        return self.error

    def lose(self, why: str) -> NoReturn:
        """Close the connection, as it is lost.

        Raises:
            ProviderLost: always.
        """
        self.drop(why)
        place = self.options.place
        said = f"The connection with {place} is lost: {self.lost.rstrip('.')}."
        raise ProviderLost(self.options.name, said)

    def drop(self, why: str) -> None:
        """Close the connection; later calls raise an error with the reason."""
        self.lost = self.lost or why
        self.transport.disconnect_socket()

    def close(self) -> None:
        """Disconnect in order, so that the client id is free at once. May be called
        twice."""
        if not self.lost:
            try:
                self.protocol.disconnect(f"r{next(self.numbers)}")
            except (AttributeError, OSError, StompException) as error:
                self.lost = str(error)
            deadline = monotonic() + PARTING_S
            while not self.lost and self.take(deadline):
                pass
        self.drop("it was closed")


def as_login(text: str) -> str | None:
    """A header value for CONNECT. The standard has no escapes there, but ActiveMQ and
    RabbitMQ read a backslash as the beginning of an escape."""
    return text.replace("\\", "\\\\") or None
