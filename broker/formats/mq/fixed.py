"""Text, bytes and numbers of fixed length in the headers of IBM MQ.

Text is in the character set that the part before names, padded with blanks. Bytes that
are no text survive reading and writing; ``readable_text`` replaces them for display and
for the database.
"""

from __future__ import annotations

from typing import Literal

from broker.errors.mq_codes import Enc
from broker.formats.mq import ccsids

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Bytes that cannot be decoded are read as surrogates: this number plus the byte.
OF_BYTES = 0xDC00
UTF_8 = "utf-8"


def byte_order(encoding: int) -> Literal["<", ">"]:
    """The byte order of integers, for ``struct``; if the last digit is 2, it is
    reversed."""
    return "<" if encoding & Enc.INTEGER_MASK == Enc.INTEGER_REVERSED else ">"


def codec_of(ccsid: int) -> str:
    """The codec of the text in a header. No header can be in UTF-16, whose characters
    are not single bytes; it is read as UTF-8 then, as if there was no codec."""
    try:
        found = ccsids.codec_of(ccsid)
    except ValueError:
        return UTF_8
    return UTF_8 if found.startswith(("utf-16", "utf-32")) else found


def codec_of_header(begins: bytes, struc_id: bytes, ccsid: int) -> str | None:
    """The codec of a header, by its first bytes; None if it does not begin with its
    identifier. Programs also write headers in ASCII that the part before declares as
    EBCDIC.

    Args:
        begins: the first four bytes.
        struc_id: the identifier, in ASCII.
        ccsid: from the part before.
    """
    codec = codec_of(ccsid)
    if begins == padded(struc_id.decode(), len(struc_id), codec):
        return codec
    return UTF_8 if begins == struc_id else None


def padded(text: str, width: int, codec: str = UTF_8) -> bytes:
    """The text in exactly ``width`` bytes; a longer text is cut at a character."""
    if text and all(OF_BYTES <= ord(one) < OF_BYTES + 256 for one in text):
        raw = bytes(ord(one) - OF_BYTES for one in text)
    elif codec == UTF_8:
        raw = in_utf_8(text)
    else:
        raw = text.encode(codec, "replace")
    if len(raw) > width:
        raw = raw[:width].decode(codec, "ignore").encode(codec)
    return raw.ljust(width, " ".encode(codec))


def in_utf_8(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def unpadded(raw: bytes, codec: str = UTF_8) -> str:
    """The text without its padding; ``padded`` restores the padding."""
    if codec == UTF_8:
        return raw.decode("utf-8", "surrogateescape").rstrip(" ")
    try:
        return raw.decode(codec).rstrip(" ")
    except UnicodeDecodeError:
        return "".join(chr(OF_BYTES + byte) for byte in raw)


def readable_text(text: str) -> str:
    """The text up to its first NUL, with unprintable characters replaced."""
    readable = text.partition("\0")[0].rstrip(" ")
    return "".join(c if c.isprintable() else REPLACEMENT for c in readable)
