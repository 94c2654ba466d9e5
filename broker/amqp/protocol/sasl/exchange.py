"""The common base of both sides of SASL: header, frames and limits.

Source: AMQP 1.0, part 5, section 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.amqp.protocol.conditions import (
    FRAMING_ERROR,
    RESOURCE_LIMIT_EXCEEDED,
    AmqpError,
)
from broker.amqp.protocol.frames import SASL, SASL_HEADER, Frames, frame
from broker.amqp.protocol.performatives import (
    Performative,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.sasl import scram

ANONYMOUS, EXTERNAL, PLAIN = "ANONYMOUS", "EXTERNAL", "PLAIN"
SCRAM = scram.MECHANISM
MSSBCBS = "MSSBCBS"  # the name of ANONYMOUS in some of Azure's clients
MOST_BYTES = 8192  # most bytes received before authentication
OK, NOT_WELCOME, OUR_TROUBLE = 0, 1, 4  # codes of SASL outcomes


class Exchange:
    """One side of a SASL exchange.

    Attributes:
        over: the exchange has ended; ``succeeded`` tells how.
    """

    def __init__(self) -> None:
        self.over = False
        self.succeeded = False
        self.out = bytearray()
        # Bytes of the peer's header so far; None once it is complete.
        self.header: bytes | None = b""
        self.frames = Frames(MOST_BYTES)
        self.taken = 0  # bytes received

    def outgoing(self) -> bytes:
        """Take the bytes to write; b"" if there are none."""
        data = bytes(self.out)
        self.out.clear()
        return data

    def rest(self) -> bytes:
        """Take the bytes received after the exchange; bytes received later are not
        included."""
        return self.frames.rest()

    def write(self, performative: Performative) -> None:
        self.out += frame(0, encode_performative(performative), kind=SASL)

    def read(self, data: bytes) -> Iterator[Performative]:
        """Decode received frames. If the caller stops early, the next call goes on.

        Raises:
            AmqpError: a frame cannot be decoded, or there are too many bytes.
        """
        self.count(data)
        if self.header is not None:
            data = self.read_header(self.header + data)
        for kind, _, body, at, end in self.frames.feed(data):
            if kind != SASL:
                raise AmqpError(FRAMING_ERROR, "a frame that is not SASL's")
            yield decode_performative(body, at, end)[0]

    def keep(self, data: bytes) -> None:
        """Store received bytes without decoding them.

        Raises:
            AmqpError: there are too many bytes.
        """
        self.count(data)
        self.frames.feed(data)

    def count(self, data: bytes) -> None:
        self.taken += len(data)
        if self.taken > MOST_BYTES:
            error = f"more than {MOST_BYTES} bytes before the outcome"
            raise AmqpError(RESOURCE_LIMIT_EXCEEDED, error)

    def read_header(self, data: bytes) -> bytes:
        if not SASL_HEADER.startswith(data[: len(SASL_HEADER)]):
            raise AmqpError(FRAMING_ERROR, "another protocol than AMQP 1.0 with SASL")
        if len(data) < len(SASL_HEADER):
            self.header = data
            return b""
        self.header = None
        self.greet()
        return data[len(SASL_HEADER) :]

    def greet(self) -> None:
        """Called when the peer's header is complete."""
