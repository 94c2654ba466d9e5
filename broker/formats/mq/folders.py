"""The folders of an RFH2: names and values in a text that looks like XML.

    <usr><colour>red</colour><count dt="i4">17</count></usr>

A folder's text is untrusted: it may have any length and depth. It is stored as it was
received, so that an unchanged header has the same bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from math import inf, isinf
from typing import Self
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape
from xml.sax.xmlreader import AttributesImpl, InputSource, Locator

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

from broker.errors.messages import MalformedFormat

# Limits of a folder: characters, levels, elements.
LONGEST, DEEPEST, MOST = 2**20, 20, 10_000

Value = str | bool | int | float | bytes | None


@dataclass(frozen=True, slots=True)
class Element:
    """A property, or a group of elements; an empty group is an empty text."""

    name: str
    value: Value | tuple[Element, ...]
    dt: str = "string"  # the data type of a property

    @property
    def is_group(self) -> bool:
        return isinstance(self.value, tuple)


@dataclass(frozen=True, slots=True)
class Folder:
    """A top-level group of an RFH2, and its text as sent."""

    root: Element
    text: str  # the text, with trailing blanks

    @classmethod
    def of(cls, name: str, *elements: Element) -> Self:
        """A folder with these elements.

        Raises:
            ValueError: XML cannot express a name or a value.
        """
        root = Element(name, elements)
        try:
            folder = cls.parse(written(root))
        except MalformedFormat as wrong:
            raise ValueError(f"{name!r} cannot be a folder: {wrong.why}") from None
        if repr(folder.root) != repr(root):  # repr, because NaN is not equal to itself
            raise ValueError(f"{name!r} cannot be a folder: it would read differently")
        return folder

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a folder's text.

        Raises:
            MalformedFormat: the text is not a folder; with the offset of a character.
        """
        if len(text) > LONGEST:
            raise malformed(f"a folder has more than {LONGEST:,} characters", LONGEST)
        source = InputSource()
        source.setCharacterStream(StringIO(text, newline=""))
        parser = make_parser()
        parser.forbid_dtd = True
        reader = Reader(text)
        parser.setContentHandler(reader)
        try:
            parser.parse(source)
        except SAXParseException as wrong:
            raise malformed(wrong.getMessage(), reader.place()) from None
        except DefusedXmlException:
            raise malformed("it declares a DTD or entities", reader.place()) from None
        return cls(reader.root, text)


def malformed(why: str, offset: int) -> MalformedFormat:
    return MalformedFormat("MQRFH2", why, offset)


class Reader(ContentHandler):
    """A SAX handler that builds elements."""

    root: Element

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.locator: Locator | None = None
        self.open: list[Open] = []
        self.count = 0

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802
        self.locator = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        self.count += 1
        if len(self.open) == DEEPEST:
            raise malformed(f"it is nested deeper than {DEEPEST}", self.place())
        if self.count > MOST:
            raise malformed(f"it has more than {MOST:,} elements", self.place())
        is_nil = attrs.get("xsi:nil") in ("true", "1")
        self.open.append(Open(name, attrs.get("dt", "string"), is_nil))

    def characters(self, content: str) -> None:
        self.open[-1].texts.append(content)

    def endElement(self, name: str) -> None:  # noqa: N802
        ended = self.open.pop()
        try:
            element = ended.element(is_folder=not self.open)
        except ValueError as wrong:
            raise malformed(f"{name!r:.60} {wrong}", self.place()) from None
        if self.open:
            self.open[-1].elements.append(element)
        else:
            self.root = element

    def place(self) -> int:
        """The parser's position, in characters."""
        if self.locator is None or (line := self.locator.getLineNumber()) is None:
            return 0
        ends = [match.end() for match in re.finditer("\r\n?|\n", self.text)]
        starts = [0, *ends][: line or 1]
        return min(starts[-1] + (self.locator.getColumnNumber() or 0), len(self.text))


@dataclass(slots=True)
class Open:
    """An element whose end tag has not been read."""

    name: str
    dt: str
    is_nil: bool
    texts: list[str] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)

    def element(self, *, is_folder: bool) -> Element:
        text = "".join(self.texts)
        if self.elements or is_folder:
            if text.strip():
                raise ValueError("has text beside its properties")
            return Element(self.name, tuple(self.elements))
        if self.dt not in TYPES:
            raise ValueError(f"has an unknown type, {self.dt!r:.60}")
        value = None if self.is_nil else TYPES[self.dt](text)
        return Element(self.name, value, self.dt)


def whole_number(bits: int) -> Callable[[str], int]:
    """A function that parses an integer of this size."""

    def read(text: str) -> int:
        if not re.fullmatch("[+-]?[0-9]{1,19}", text):
            raise ValueError("is no whole number")
        if not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
            raise ValueError(f"does not fit {bits} bits")
        return int(text)

    return read


def real_number(layout: str) -> Callable[[str], float]:
    """A function that parses a float that fits a ``struct`` format."""

    def read(text: str) -> float:
        if not re.fullmatch(REAL, text):
            raise ValueError("is no number")
        try:
            number = float(text)
            struct.pack(layout, number)
        except OverflowError:
            number = inf
        except ValueError:
            raise ValueError("is no number") from None
        if isinf(number) and "I" not in text:
            raise ValueError("is too large a number for its type")
        return number

    return read


def truth(text: str) -> bool:
    if text not in ("0", "1", "false", "true"):
        raise ValueError("is neither 0 nor 1")
    return text in ("1", "true")


def octets(text: str) -> bytes:
    if not re.fullmatch("(?:[0-9a-fA-F]{2})*", text):
        raise ValueError("is not hexadecimal")
    return bytes.fromhex(text)


REAL = r"[+-]?(?:[0-9.]{1,400}(?:[eE][+-]?[0-9]{1,4})?|INF|Infinity)|NaN"
# Source: IBM MQ documentation, "Mapping property data types to MQRFH2 data types".
TYPES: dict[str, Callable[[str], Value]] = {
    "string": str,
    "boolean": truth,
    "bin.hex": octets,
    "i1": whole_number(8),
    "i2": whole_number(16),
    "i4": whole_number(32),
    "i8": whole_number(64),
    "int": whole_number(64),
    "r4": real_number("<f"),
    "r8": real_number("<d"),
}


def written(element: Element) -> str:
    """The text of an element. ``Folder.of`` checks that parsing it gives the same
    element."""
    name, value = element.name, element.value
    if isinstance(value, tuple):
        inner = "".join(map(written, value))
        return f"<{name}>{inner}</{name}>"
    type_ = "" if element.dt == "string" else f' dt="{element.dt}"'
    nil = ' xsi:nil="true"' if value is None else ""
    return f"<{name}{type_}{nil}>{written_value(value)}</{name}>"


def written_value(value: Value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float):
        return repr(value).replace("inf", "INF").replace("nan", "NaN")
    return escape("" if value is None else str(value), {"\r": "&#13;"})
