"""Converts bodies to UTF-8 from the character sets that their messages name."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace

from broker.formats.text import CHARSET, codec_of, is_textual
from console.bodies.unwrap import Opened

SAYS_ENCODING = ("<?xml", "MSH", "BHS", "FHS")  # XML and HL7 name their encoding
NO_CHARACTERS = ("idna", "punycode", "raw", "undefined", "unicode")


def in_unicode(body: Opened) -> Opened:
    """The content in UTF-8, if IBM MQ's descriptor or headers name another character
    set, and its type names none that fits.

    Raises:
        ValueError: it is declared as text, and is none in that character set, or nobody
            here knows this.
    """
    head, coding = body.head, body.coding
    if coding is None or fits_its_type(body):
        return body
    is_declared = is_textual(body.content_type, coding)
    try:
        if coding.codec == "utf-8":
            return body
        text = coding.beginning(head, is_whole=body.is_kept)
    except ValueError:
        if is_declared:
            raise
        return body
    if not is_declared and not is_legible(text):
        return body
    # The text is in UTF-8 now, whatever encoding it names itself. The byte order mark
    # tells viewers so.
    mark = codecs.BOM_UTF8 if text.lstrip("\x0b").startswith(SAYS_ENCODING) else b""
    head = mark + text.encode(errors="replace")
    return replace(body, head=head, content_type=body.content_type.partition(";")[0])


def fits_its_type(body: Opened) -> bool:
    """Whether the type names a character set that the content is in."""
    if not CHARSET.search(body.content_type):
        return False
    try:
        codec = codec_of(body.content_type)
        codecs.getincrementaldecoder(codec)().decode(body.head, body.is_kept)
    except ValueError:
        return False
    return True


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
        LookupError: a codec that does not decode characters and takes unbounded time.
        ValueError: unknown, or the body is not in it.
    """
    named = re.search(r";\s*charset=\"?([\w.:-]+)", content_type, re.ASCII | re.I)
    if named is None:
        return body
    try:
        known = codecs.lookup(named[1]).name
    except LookupError:
        known = codec_of(content_type)
    if known.startswith(NO_CHARACTERS):
        raise LookupError(f"{named[1]} is no character set")
    return body.decode(known).encode()
