"""Texts in Java's modified UTF-8, as ActiveMQ stores them.

There NUL takes two bytes, and a character beyond U+FFFF two surrogates of three bytes
each. ActiveMQ does not convert the bytes of STOMP: a JMS client could not read such
characters in standard UTF-8.

Source:
    Java, ``DataInput``, "Modified UTF-8"; ActiveMQ, ``MarshallingSupport.readUTF8``.
"""

from __future__ import annotations

import re

NUL = b"\xc0\x80"
BEYOND = re.compile("[\U00010000-\U0010ffff]")


def to_java(text: str) -> bytes:
    """Encode a text in modified UTF-8."""
    split = BEYOND.sub(surrogates, text)
    return split.encode("utf-8", "surrogatepass").replace(b"\0", NUL)


def surrogates(found: re.Match[str]) -> str:
    """The two surrogates of a character."""
    rest = ord(found[0]) - 0x10000
    return chr(0xD800 | rest >> 10) + chr(0xDC00 | rest & 0x3FF)


def from_java(body: bytes) -> bytes:
    """Convert modified UTF-8 to UTF-8. Bytes that are UTF-8, or neither, stay
    unchanged."""
    try:
        body.decode()
    except UnicodeDecodeError:
        pass
    else:
        return body
    try:
        split = body.replace(NUL, b"\0").decode("utf-8", "surrogatepass")
        return split.encode("utf-16", "surrogatepass").decode("utf-16").encode()
    except UnicodeError:
        return body
