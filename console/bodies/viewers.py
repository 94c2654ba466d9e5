"""Plug-in point: viewers, which show a body by its content type.

A viewer is ``def (body: bytes) -> str``, registered with ``@shows`` in the module
``viewers`` of any installed application. It gets arbitrary bytes and returns text or
raises ``ValueError``; then the body is shown by its content, or as bytes, and the page
reports the error. The result is text, never markup. Encodings and IBM MQ headers are
removed first (``unwrap``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qsl

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext, gettext_noop

from broker.formats.mq.coding import Coding
from console.bodies.characters import in_unicode, in_utf8, is_text
from console.bodies.decompress import KEPT, PACKINGS
from console.bodies.hl7 import named_segments
from console.bodies.pretty_print import indented_json, indented_xml
from console.bodies.unwrap import (
    NOT_AS_WANTED,
    UNDECLARED,
    Layer,
    Opened,
    opened,
    warning,
)

SHOWN = 64 * 2**10  # the most bytes, or characters after formatting, that a page shows
# The most lines that a page shows, because each is an element of HTML. It is the number
# of lines that ``octets`` makes from SHOWN bytes.
LINES = SHOWN // 16
LAID_OUT = KEPT  # the most bytes of a body that is formatted
EXCUSE = 200  # the most characters of an error message
BLANKS = b"\xef\xbb\xbf\x0b \t\r\n"  # allowed before the first significant byte
PRINTABLE = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256))
TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TURNED = gettext_noop(
    "It has characters that change the direction of the text around them. They are"
    " marked, and have no effect here."
)
TOO_LONG = gettext_noop(
    "It is too long to be formatted, so its beginning is shown as it was sent."
)
NOT_UTF_8 = gettext_noop("Bytes that are no UTF-8 are shown as \\x and two digits.")
UNREADABLE = gettext_noop(
    "It is declared as %(name)s, but does not read so: %(error)s."
)
AS_TEXT, AS_BYTES = gettext_noop("as text"), gettext_noop("as bytes")

Reader = Callable[[bytes], str]
Syntax = Literal["", "json", "xml"]


@dataclass(frozen=True, slots=True)
class Viewer:
    read: Reader
    done: str  # the format's name in English, for people
    name: str = ""  # the name in URLs; empty: users cannot choose this viewer
    # If set, elements of the text have colours, and can be folded by their indentation.
    syntax: Syntax = ""


@dataclass(frozen=True, slots=True)
class BodyView:
    """A body as text, and the steps that produced it."""

    text: str
    done: str  # as ``Viewer`` has it; style sheets know it
    notice: str = ""  # why the body is not shown by its type
    is_cut: bool = False  # the body is longer than the text
    is_partly_read: bool = False  # a part was read, so the number of lines is unknown
    line_count: int = 0  # lines that were read; the text may have fewer
    syntax: Syntax = ""
    layers: tuple[Layer, ...] = ()  # layers that were removed, the outermost first

    @property
    def lines(self) -> list[str]:
        """The lines to be shown."""
        return self.text.replace("\r\n", "\n").split("\n", LINES)[:LINES]

    @property
    def hidden_lines(self) -> int:
        """How many lines follow the last that a page can show; 0 if there is room."""
        if count_of(self.text) <= LINES:
            return 0
        return max(self.line_count, count_of(self.text)) - LINES

    @property
    def chain(self) -> str:
        """All steps, in order."""
        return " → ".join([*(layer.name for layer in self.layers), gettext(self.done)])


VIEWERS: dict[str, Viewer] = {}


def shows(
    *content_types: str, done: str, name: str = "", syntax: Syntax = ""
) -> Callable[[Reader], Reader]:
    """Register a viewer for these content types; a type has one viewer."""

    def register(read: Reader) -> Reader:
        for content_type in content_types:
            if content_type in VIEWERS:
                raise ImproperlyConfigured(f"{content_type} has a viewer already")
            VIEWERS[content_type] = Viewer(read, done, name, syntax)
        return read

    return register


def choices() -> list[str]:
    """Viewers and encodings that a user may choose, and the raw body."""
    named = dict.fromkeys(one.name for one in VIEWERS.values() if one.name)
    return [*named, *PACKINGS, "text", "hex"]


def show(
    head: bytes,
    size: int,
    content_type: str,
    *,
    encoding: str = "",
    wanted: str = "",
    coding: Coding | None = None,
) -> BodyView:
    """A body, or its beginning, as text.

    Args:
        head: its first bytes, ``LAID_OUT`` at most.
        size: its full length in bytes.
        content_type: declared by the sender.
        encoding: the content encodings declared by the sender.
        wanted: one of ``choices``, to override the declared type; others are ignored.
        coding: what IBM MQ's descriptor and headers say of the body.
    """
    if wanted == "hex":
        return in_bytes(head, "")
    if wanted == "text":
        return as_sent(head, is_partly_read=size > len(head), coding=coding)
    body = opened(
        head, size, content_type, encoding=encoding, wanted=wanted, coding=coding
    )
    found = inside(body, wanted)
    text = body.preface + found.text
    turned = gettext(TURNED) if TURNS.search(text[:SHOWN]) else ""
    said = [*body.notices, found.notice, turned]
    return replace(
        found,
        text=text[: SHOWN if body.preface else None],
        notice=" ".join(filter(None, said)),
        is_cut=found.is_cut or (bool(body.preface) and len(text) > SHOWN),
        syntax=found.syntax if not body.preface else "",
        layers=body.layers,
        line_count=found.line_count + body.preface.count("\n"),
    )


def inside(body: Opened, wanted: str) -> BodyView:
    """The body shown by its declared type, or by its content."""
    try:
        body = in_unicode(body)
    except ValueError as error:
        notice = gettext("It cannot be read as text: %(error)s.") % {"error": error}
        return in_bytes(body.head, notice)
    head, content_type = body.head, body.content_type
    if not body.is_kept:
        return beginning(head, is_all=body.is_broken)
    chosen = named(wanted)
    declared, notice = chosen or viewer_for(content_type), ""
    if declared:
        try:
            return laid_out(declared, in_utf8(head, content_type))
        except (ValueError, LookupError, RecursionError) as error:
            notice = (
                warning(NOT_AS_WANTED, wanted, why(error))
                if chosen
                else warning(UNREADABLE, content_type, why(error))
            )
    elif content_type not in UNDECLARED:
        notice = gettext("Nothing here shows %(type)s.") % {"type": content_type}
    for viewer in guesses(head):
        try:
            return laid_out(viewer, head, notice)
        except (ValueError, LookupError, RecursionError):
            continue
    return in_bytes(head, notice)


def laid_out(viewer: Viewer, body: bytes, notice: str = "") -> BodyView:
    text = viewer.read(body)
    is_cut = len(text) > SHOWN
    return BodyView(
        text[:SHOWN],
        viewer.done,
        notice,
        is_cut,
        syntax=viewer.syntax,
        line_count=count_of(text),
    )


def count_of(text: str) -> int:
    """The number of lines; the last one may lack its end."""
    return text.count("\n") + (not text.endswith("\n"))


def named(wanted: str) -> Viewer | None:
    """The viewer that a user chose, if it is one."""
    every = VIEWERS.values()
    return next((one for one in every if wanted and one.name == wanted), None)


def beginning(head: bytes, *, is_all: bool) -> BodyView:
    """The start of a body that is too long to be formatted."""
    notice = "" if is_all else gettext(TOO_LONG)
    if is_text(head):
        # The last character is left out if the cut divides it.
        text = head[:SHOWN].decode(errors="ignore")
        return BodyView(
            text,
            AS_TEXT,
            notice,
            not is_all or len(head) > SHOWN,
            is_partly_read=not is_all,
            line_count=head.count(b"\n"),
        )
    return in_bytes(head, notice)


def as_sent(
    head: bytes, *, is_partly_read: bool, coding: Coding | None = None
) -> BodyView:
    """The start of a body as text, whatever it is."""
    if coding is not None:
        with suppress(ValueError):
            begins = head[: coding.offset].decode(errors="backslashreplace").encode()
            head = begins + coding.beginning(head[coding.offset :]).encode()
    part = head[: SHOWN - 3] if len(head) > SHOWN else head
    text = part.decode(errors="backslashreplace")[:SHOWN]
    said = [gettext(NOT_UTF_8)] if not is_text(part) and "\\x" in text else []
    said += [gettext(TURNED)] if TURNS.search(text) else []
    return BodyView(
        text,
        AS_TEXT,
        " ".join(said),
        is_cut=len(head) > SHOWN,
        is_partly_read=is_partly_read,
        line_count=head.count(b"\n") + (not head.endswith(b"\n")),
    )


def in_bytes(head: bytes, notice: str) -> BodyView:
    text = octets(head[:SHOWN])
    return BodyView(text, AS_BYTES, notice, is_cut=len(head) > SHOWN)


def viewer_for(content_type: str) -> Viewer | None:
    """The viewer of a type, of its suffix (``+json``), or of any text."""
    name = content_type.partition(";")[0].strip().lower()
    base = f"application/{name.rpartition('+')[2]}" if "+" in name else ""
    any_text = VIEWERS["text/plain"] if name.startswith("text/") else None
    return VIEWERS.get(name) or VIEWERS.get(base) or any_text


def guesses(body: bytes) -> Iterator[Viewer]:
    """The viewers that the body's content suggests."""
    start = body[:64].lstrip(BLANKS)
    if start.startswith((b"MSH", b"BHS", b"FHS")):
        yield VIEWERS["application/hl7-v2"]
    if start.startswith(b"<"):
        yield VIEWERS["application/xml"]
    if start.startswith((b"{", b"[")):
        yield VIEWERS["application/json"]
    if is_text(body):
        yield VIEWERS["text/plain"]


def why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return gettext("it is nested too deep")
    return str(error)[:EXCUSE].rstrip(".")


def octets(body: bytes) -> str:
    """A hexadecimal dump: offsets, bytes and ASCII."""
    lines = ((at, body[at : at + 16]) for at in range(0, len(body), 16))
    return "\n".join(
        f"{at:08x} | {line.hex(' '):<47} | {line.translate(PRINTABLE).decode()}"
        for at, line in lines
    )


shows(
    *("application/json", "text/json"),
    done=gettext_noop("JSON, indented"),
    name="json",
    syntax="json",
)(indented_json)
shows(
    *("application/xml", "text/xml"),
    done=gettext_noop("XML, indented"),
    name="xml",
    syntax="xml",
)(indented_xml)
shows(
    "application/hl7-v2",
    "x-application/hl7-v2+er7",
    "application/edi-hl7",
    done=gettext_noop("HL7 v2, each segment after its name"),
    name="hl7",
)(named_segments)


@shows("text/plain", "text/csv", done=AS_TEXT)
def text(body: bytes) -> str:
    return body.decode()


@shows(
    "application/x-www-form-urlencoded",
    done=gettext_noop("a form, one field a line"),
    name="form",
)
def form(body: bytes) -> str:
    fields = parse_qsl(
        body.decode("ascii"), keep_blank_values=True, strict_parsing=True
    )
    width = min(max((len(name) for name, _ in fields), default=0), 40)
    return "\n".join(f"{name:{width}} = {value}" for name, value in fields)
