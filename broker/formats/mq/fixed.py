"""Text, bytes and numbers of fixed length in the headers of IBM MQ.

Text is UTF-8 (CCSID 1208), padded with blanks. Invalid bytes survive reading and
writing; ``shown`` replaces them for display and for the database.
"""

from __future__ import annotations

from typing import Literal

from broker.errors.mq_codes import Enc

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def byte_order(encoding: int) -> Literal["<", ">"]:
    """The byte order of integers, for ``struct``; if the last digit is 2, it is
    reversed."""
    return "<" if encoding & Enc.INTEGER_MASK == Enc.INTEGER_REVERSED else ">"


def padded(text: str, width: int) -> bytes:
    """The text in exactly ``width`` bytes; a longer text is cut at a character."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    if len(raw) > width:
        raw = raw[:width].decode("utf-8", "ignore").encode()
    return raw.ljust(width)


def unpadded(raw: bytes) -> str:
    """The text without its padding; ``padded`` restores the padding."""
    return raw.decode("utf-8", "surrogateescape").rstrip(" ")


def shown(text: str) -> str:
    """The text up to its first NUL, with unprintable characters replaced."""
    readable = text.partition("\0")[0].rstrip(" ")
    return "".join(c if c.isprintable() else REPLACEMENT for c in readable)
