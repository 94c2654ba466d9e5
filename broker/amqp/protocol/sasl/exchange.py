"""What both sides of SASL need: a header, frames, and bounds.

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
MSSBCBS = "MSSBCBS"  # what some clients of Azure call ANONYMOUS
MOST_BYTES = 8192  # that anybody may send before we know who it is
OK, NOT_WELCOME, OUR_TROUBLE = 0, 1, 4  # codes of outcomes


class Exchange:
    """One side of it.

    Attributes:
        over: nothing more is read; ``succeeded`` tells how it ended.
    """

    def __init__(self) -> None:
        self.over = False
        self.succeeded = False
        self.out = bytearray()
        self.header: bytes | None = b""  # of the peer, in part; None when it is whole
        self.frames = Frames(MOST_BYTES)
        self.taken = 0  # bytes

    def outgoing(self) -> bytes:
        """Take what is to be written; b"" if nothing is."""
        data = bytes(self.out)
        self.out.clear()
        return data

    def rest(self) -> bytes:
        """Take what came behind the exchange; what comes later is not ours at all."""
        return self.frames.rest()

    def write(self, performative: Performative) -> None:
        self.out += frame(0, encode_performative(performative), kind=SASL)

    def read(self, data: bytes) -> Iterator[Performative]:
        """What came, one by one; whoever stops finds the others when reading on.

        Raises:
            AmqpError: it cannot be read, or it is too much.
        """
        self.count(data)
        if self.header is not None:
            data = self.read_header(self.header + data)
        for kind, _, body, at, end in self.frames.feed(data):
            if kind != SASL:
                raise AmqpError(FRAMING_ERROR, "a frame that is not SASL's")
            yield decode_performative(body, at, end)[0]

    def keep(self, data: bytes) -> None:
        """Take what came, but do not read it yet.

        Raises:
            AmqpError: it is too much.
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
        """The peer's header has come."""
