"""Text, bytes and numbers of fixed length, as the headers of IBM MQ have them.

Text is UTF-8 (CCSID 1208), padded with blanks. Bytes that are no text survive reading
and writing as they were; ``shown`` makes of them what people and the database can take.
"""

from __future__ import annotations

from typing import Literal

from broker.errors.mq_codes import Enc

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def byte_order(encoding: int) -> Literal["<", ">"]:
    """Of integers, as ``struct`` wants it; only 2 in the last digit is reversed."""
    return "<" if encoding & Enc.INTEGER_MASK == Enc.INTEGER_REVERSED else ">"


def padded(text: str, width: int) -> bytes:
    """The text in exactly ``width`` bytes; what is too long loses whole characters."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    if len(raw) > width:
        raw = raw[:width].decode("utf-8", "ignore").encode()
    return raw.ljust(width)


def unpadded(raw: bytes) -> str:
    """The text without its padding; ``padded`` gives the same bytes again."""
    return raw.decode("utf-8", "surrogateescape").rstrip(" ")


def shown(text: str) -> str:
    """The text up to its first NUL, as C reads it; the unprintable is replaced."""
    readable = text.partition("\0")[0].rstrip(" ")
    return "".join(c if c.isprintable() else REPLACEMENT for c in readable)
