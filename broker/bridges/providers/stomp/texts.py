"""Texts as ActiveMQ keeps them.

It keeps a text as Java writes it: NUL is two bytes, and a character beyond the first
plane two surrogates of three bytes each. STOMP's bytes go in and come out unchanged, so
that a JMS client could not read a text whose characters were written in UTF-8.

Source:
    Java, ``DataInput``, "Modified UTF-8"; ActiveMQ, ``MarshallingSupport.readUTF8``.
"""

from __future__ import annotations

import re

NUL = b"\xc0\x80"
BEYOND = re.compile("[\U00010000-\U0010ffff]")


def to_java(text: str) -> bytes:
    """A text as Java writes it."""
    split = BEYOND.sub(surrogates, text)
    return split.encode("utf-8", "surrogatepass").replace(b"\0", NUL)


def surrogates(found: re.Match[str]) -> str:
    """The two of one character."""
    rest = ord(found[0]) - 0x10000
    return chr(0xD800 | rest >> 10) + chr(0xDC00 | rest & 0x3FF)


def from_java(body: bytes) -> bytes:
    """The same in UTF-8. What is UTF-8 already, or neither, stays as it is."""
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
