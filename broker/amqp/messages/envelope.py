"""What is kept of an AMQP message beside its body, so that it comes out as it went in.

    flags, length of what comes before the body      5 bytes
    the expiry that the column had, if a flag says so   8 bytes
    message annotations                              as they were, without IBM's
    properties, application properties               as they were
    descriptor and constructor of the body           as they were
    footer                                           as it was

The header is not among it: its fields are in the columns, and are written anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import PROPERTIES, properties_of, walked
from broker.queueing.store import REPAIRED

EXPIRES = 1  # properties have an absolute expiry time; the other flag is REPAIRED
FIXED = Struct(">BI")
LENGTH = Struct(">I")
EXPIRY = Struct(">q")
START = FIXED.size


class Envelope(NamedTuple):
    """An envelope taken apart."""

    before: bytes  # what comes before the body, and its beginning
    after: bytes
    expires_ms: int | None  # of ``expires_at``; 0: never. None: the sender said nothing
    is_repaired: bool = False  # the columns know better


def sealed(before: Sequence[bytes], after: bytes, expires_ms: int | None) -> bytes:
    """An envelope as it is stored.

    Args:
        before: the parts that come before the body.
        after: the footer.
        expires_ms: see ``Envelope``.
    """
    length = sum(map(len, before))
    if expires_ms is None:
        head = FIXED.pack(0, length)
    else:
        head = FIXED.pack(EXPIRES, length) + EXPIRY.pack(expires_ms)
    return b"".join((head, *before, after))


def opened(stored: bytes) -> Envelope:
    """Take an envelope apart."""
    flags, length = FIXED.unpack_from(stored)
    start, expires_ms = START, None
    if flags & EXPIRES:
        (expires_ms,) = EXPIRY.unpack_from(stored, START)
        start += EXPIRY.size
    end = start + length
    is_repaired = bool(flags & REPAIRED)
    return Envelope(stored[start:end], stored[end:], expires_ms, is_repaired)


def content_encoding(stored: bytes) -> str:
    """What its sender says that the body is packed in; empty where that is not said."""
    before = opened(stored).before
    try:
        for code, begin, _, end in walked(before):
            if code == PROPERTIES:
                return properties_of(before[begin:end]).content_encoding or ""
    except AmqpError:  # it ends where the body begins
        return ""
    return ""
