"""Frames, which carry the performatives.

Source: AMQP 1.0, part 2, section 2.3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from broker.amqp.protocol.conditions import FRAMING_ERROR, AmqpError

AMQP_HEADER = b"AMQP\0\1\0\0"
TLS_HEADER = b"AMQP\2\1\0\0"
SASL_HEADER = b"AMQP\3\1\0\0"

AMQP, SASL = 0, 1  # types of frames
LEAST = 8  # smallest size of a frame, in bytes

HEAD = struct.Struct(">IBBH")

Frame = tuple[int, int, bytes, int, int]


def frame(channel: int, body: bytes, *, kind: int = AMQP) -> bytes:
    """Encode a frame; without a body it is a heartbeat."""
    return HEAD.pack(len(body) + LEAST, 2, kind, channel) + body


HEARTBEAT = frame(0, b"")


class Frames:
    """Splits received bytes into frames, and keeps an incomplete one.

    Args:
        max_frame_size: bytes of a frame including its head; may be changed later.
    """

    __slots__ = ("at", "data", "max_frame_size")

    def __init__(self, max_frame_size: int) -> None:
        self.max_frame_size = max_frame_size
        self.data = b""
        self.at = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add received bytes, and return the complete frames.

        Returns:
            For each frame: its kind, its channel, a byte string, and the begin and end
            of the body in that. If the caller stops early, ``rest`` has the remainder.

        Raises:
            AmqpError: with ``amqp:connection:framing-error``, from the iterator; later
                bytes cannot be read.
        """
        self.data = self.data[self.at :] + data
        self.at = 0
        return self._whole()

    def rest(self) -> bytes:
        """Take the bytes that were received but not returned as frames."""
        rest = self.data[self.at :]
        self.data, self.at = b"", 0
        return rest

    def _whole(self) -> Iterator[Frame]:
        while len(self.data) - self.at >= LEAST:
            data, at = self.data, self.at
            size, offset, kind, channel = HEAD.unpack_from(data, at)
            body = at + 4 * offset
            self._check(size, body - at)
            end = at + size
            if end > len(data):
                return
            self.at = end
            yield kind, channel, data, body, end

    def _check(self, size: int, body: int) -> None:
        if not LEAST <= size <= self.max_frame_size:
            raise AmqpError(
                FRAMING_ERROR,
                f"A frame has {LEAST} to {self.max_frame_size} bytes, not {size}.",
            )
        if not LEAST <= body <= size:
            raise AmqpError(FRAMING_ERROR, f"A frame's body cannot begin at {body}.")
