"""Converts bodies to UTF-8 from the character sets that their messages name."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace

from broker.formats.text import CHARSET, is_textual
from console.bodies.unwrap import Opened

NO_CHARACTERS = ("idna", "punycode", "raw", "undefined", "unicode")


def in_unicode(body: Opened) -> Opened:
    """The content in UTF-8, if IBM MQ's descriptor or headers name another character
    set, and its type names none.

    Raises:
        ValueError: it is no text in that character set, or nobody here knows this.
    """
    head, coding = body.head, body.coding
    if coding is None or CHARSET.search(body.content_type):
        return body
    is_declared = is_textual(body.content_type, coding)
    try:
        text = coding.beginning(head, is_whole=body.is_kept)
    except ValueError:
        if is_declared or not is_text(head):
            raise
        return body
    if not is_declared and not is_legible(text):
        return body
    # The mark tells a parser that the encoding in an XML declaration is not true here.
    mark = codecs.BOM_UTF8 if text.startswith("<?xml") else b""
    return replace(body, head=mark + text.encode(errors="replace"))


def is_legible(text: str) -> bool:
    return all(one.isprintable() or one.isspace() for one in text)


def is_text(body: bytes) -> bool:
    """Whether bytes, possibly truncated, are UTF-8 without NUL."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.start < len(body) - 3 or error.reason != "unexpected end of data":
            return False
    return b"\0" not in body


def in_utf8(body: bytes, content_type: str) -> bytes:
    """A body converted to UTF-8 from the character set of its type.

    Raises:
        LookupError: unknown, or a codec that does not decode characters and
            takes unbounded time.
    """
    named = re.search(r";\s*charset=\"?([\w.:-]+)", content_type, re.ASCII | re.I)
    if named is None:
        return body
    known = codecs.lookup(named[1])
    if known.name.startswith(NO_CHARACTERS):
        raise LookupError(f"{named[1]} is no character set")
    return body.decode(known.name).encode()
