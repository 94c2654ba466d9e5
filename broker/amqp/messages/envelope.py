"""The envelope: the encoded sections of an AMQP message that are stored with its body.

With it, the message can be sent on byte for byte.

    flags, length of what comes before the body      5 bytes
    the expiry that the column had, if a flag says so   8 bytes
    message annotations                              as they were, without IBM's
    properties, application properties               as they were
    descriptor and constructor of the body           as they were
    footer                                           as it was

The header is not part of it: its fields are in columns, and it is encoded anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import (
    PROPERTIES,
    Properties,
    properties_of,
    walked,
)
from broker.queueing.store import REPAIRED

# Flag: the properties have an absolute expiry time; the other flag is REPAIRED.
EXPIRES = 1
FIXED = Struct(">BI")
LENGTH = Struct(">I")
EXPIRY = Struct(">q")
START = FIXED.size


class Envelope(NamedTuple):
    """A decoded envelope."""

    before: bytes  # the sections before the body, and the first bytes of the body
    after: bytes
    # Expiry time as in ``expires_at``; 0: never; None: the sender gave none.
    expires_ms: int | None
    # An operator changed columns; the columns override the envelope.
    is_repaired: bool = False


def sealed(before: Sequence[bytes], after: bytes, expires_ms: int | None) -> bytes:
    """Encode an envelope.

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
    """Decode an envelope."""
    flags, length = FIXED.unpack_from(stored)
    start, expires_ms = START, None
    if flags & EXPIRES:
        (expires_ms,) = EXPIRY.unpack_from(stored, START)
        start += EXPIRY.size
    end = start + length
    is_repaired = bool(flags & REPAIRED)
    return Envelope(stored[start:end], stored[end:], expires_ms, is_repaired)


def sent_properties(stored: bytes) -> Properties:
    """The properties section as it was sent; empty if there is none."""
    before = opened(stored).before
    try:
        for code, begin, _, end in walked(before):
            if code == PROPERTIES:
                return properties_of(before[begin:end])
    except AmqpError:  # ``before`` ends within the body
        pass
    return Properties()


def content_encoding(stored: bytes) -> str:
    """The content encoding that the sender gave; empty if the sender gave none."""
    return sent_properties(stored).content_encoding or ""
