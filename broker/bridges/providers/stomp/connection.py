"""Frames to a server and back, for the one thread that waits for them.

stomp.py reads in a thread of its own, which puts each frame into a queue. Here they are
taken out: receipts and errors go to who asked, messages to their subscription.
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

WINDOW = 100  # frames to send before their receipts are waited for
LAST_WORDS_S = 1.0  # seconds to read on after nothing more can be written
PARTING_S = 5.0  # seconds to wait for the answer to DISCONNECT


class Protocol(Protocol12):  # type: ignore[misc]  # has no types
    """Beats twice as often as it promises: servers allow no delay at all."""

    def on_connected(self, frame: Frame) -> None:
        sends, wants = frame.headers.get("heart-beat", "0,0").split(",")
        frame.headers["heart-beat"] = f"{sends},{int(wants) // 2}"
        promised, wanted = self.heartbeats
        self.heartbeats: tuple[int, int] = promised // 2, wanted
        super().on_connected(frame)


class Frames(stomp.ConnectionListener):  # type: ignore[misc]  # has no types
    """Puts what comes where the other thread finds it; None: that was all."""

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
        self.messages: dict[str, deque[Frame]] = {}  # by subscription
        self.lost = ""  # why, as the end of a sentence; empty: it is not
        self.error: Frame | None = None  # the last that answered nothing
        self.answers: dict[str, Frame] = {}  # by receipt
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
            ProviderLost: nobody answers.
            WrongFactory: who answers has no certificate that can be trusted.
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
        """Log in, and hear who it is.

        Raises:
            ProviderLost, AccessRefused, WrongFactory: as above.
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
            self.lose(f"nobody said CONNECTED in {factory.connect_timeout_s:g} s")
        if answer is None:
            self.lose("the server ended it before it said CONNECTED")
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
        """Take the rest of what came: a server says why before it ends a connection."""
        deadline = monotonic() + LAST_WORDS_S
        while not self.lost and self.take(deadline):
            pass

    def ask(self, command: str, headers: Mapping[str, str], body: bytes = b"") -> str:
        """Send a frame that is to be answered.

        Returns:
            The number of its receipt.

        Raises:
            ProviderLost: the connection broke.
        """
        receipt = f"r{next(self.numbers)}"
        self.tell(command, {**headers, "receipt": receipt}, body)
        return receipt

    def wait(self, receipts: Sequence[str]) -> list[Frame]:
        """Wait until all are answered.

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
        """Sort the next frame.

        Args:
            deadline: until when to wait for it, on the clock of ``monotonic``.

        Returns:
            False where none came.
        """
        try:
            frame = self.frames.get(timeout=max(deadline - monotonic(), 0.0))
        except Empty:
            return False
        if frame is None:
            why = refusals.said_by(self.error) if self.error else "the server ended it"
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
                self.lost = self.lost or refusals.said_by(frame)
        return True

    def check(self) -> None:
        """
        Raises:
            ProviderLost: the connection broke.
        """
        if self.lost:
            self.lose(self.lost)

    def forget_error(self) -> None:
        """What it said before is not about what comes now.

        Raises:
            ProviderLost: the connection broke.
        """
        while self.take():
            pass
        self.check()
        self.error = None

    def last_error(self) -> Frame | None:
        """An ERROR that answered nothing; it may have come since one last looked."""
        return self.error

    def lose(self, why: str) -> NoReturn:
        """Give the connection up.

        Raises:
            ProviderLost: always.
        """
        self.drop(why)
        place = self.options.place
        said = f"The connection with {place} is lost: {self.lost.rstrip('.')}."
        raise ProviderLost(self.options.name, said)

    def drop(self, why: str) -> None:
        """End the connection; whoever uses it from now on is told why."""
        self.lost = self.lost or why
        self.transport.disconnect_socket()

    def close(self) -> None:
        """Say goodbye, so that the client id is free at once; harmless twice."""
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
    """A value of CONNECT. The standard escapes nothing there, but ActiveMQ and RabbitMQ
    take a backslash for the beginning of an escape all the same."""
    return text.replace("\\", "\\\\") or None
