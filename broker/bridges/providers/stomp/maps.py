"""Conversion of map messages between stored AMQP values and ActiveMQ's XML.

ActiveMQ also has JSON, but there the text ``1.0`` would become the number 1.

Source:
    JMS 1.1, section 3.11, the types of a map message; ActiveMQ 5.17,
    ``JmsFrameTranslator``; XStream, "Converters".
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from struct import pack, unpack
from typing import Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from broker.amqp.messages.bodies import VALUE, is_map
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Byte, Char, Float, Int, Short

DEEPEST = 32  # deepest nesting of maps and lists
# XML tags by type; bytes have none, as XStream refuses them.
TAGS: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    Byte: "byte",
    Short: "short",
    Int: "int",
    int: "long",
    Float: "float",
    float: "double",
    Char: "char",
}
# Characters that are illegal in XML, but that XStream writes and reads.
ILLEGAL = "\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
RAW = re.compile(f"[{ILLEGAL}]")
REFERENCE = re.compile("&#x([0-9a-fA-F]{1,6});")
PRIVATE = range(0xE000, 0xF000, 64)


class NoJmsMap(Exception):
    """The body is no map, or has a value of a type that map messages do not support."""


def to_xml(sections: bytes) -> bytes | None:
    """A stored body as ActiveMQ's XML; None if it is no JMS map."""
    if not is_map(sections):
        return None
    try:
        return "".join(written(decode(sections)[0].value, DEEPEST)).encode()
    except (NoJmsMap, UnicodeEncodeError):
        return None


def written(value: Any, deeper: int) -> Iterator[str]:
    """The XML of a value, in pieces."""
    kind = type(value)
    if value is None:
        yield "<null/>"
    elif kind in TAGS:
        yield element(TAGS[kind], value)
    elif kind in (dict, list) and deeper:
        yield "<map>" if kind is dict else "<list>"
        if kind is dict:
            for name, one in value.items():
                yield f"<entry>{element('string', checked(name))}"
                yield from written(one, deeper - 1)
                yield "</entry>"
        else:
            for one in value:
                yield from written(one, deeper - 1)
        yield "</map>" if kind is dict else "</list>"
    else:
        raise NoJmsMap


def checked(name: Any) -> str:
    if type(name) is not str or not name:
        raise NoJmsMap
    return name


def element(tag: str, value: Any) -> str:
    if tag == "char" and value > "\uffff":
        raise NoJmsMap
    if tag == "char" and value == "\0":
        return '<char null="true"/>'
    return f"<{tag}>{text_of(value)}</{tag}>"


def text_of(value: Any) -> str:
    """A value as text for XStream."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(float(value)).replace("inf", "Infinity").replace("nan", "NaN")
    if isinstance(value, int):
        return str(int(value))
    if "\0" in value:  # XStream cannot read a NUL character
        raise NoJmsMap
    plain = escape(str(value), {"\r": "&#xd;"})
    return RAW.sub(lambda found: f"&#x{ord(found[0]):x};", plain)


def from_xml(body: bytes) -> bytes | None:
    """ActiveMQ's XML of a map message as a stored body.

    Returns:
        None if the XML cannot be parsed.
    """
    try:
        text, marks = marked(body.decode())
        root = ElementTree.fromstring(text, forbid_dtd=True)
        if root.tag != "map":
            return None
        return VALUE + encode(value_of(root, marks, DEEPEST))
    except (
        *(NoJmsMap, ElementTree.ParseError, DefusedXmlException),
        *(ValueError, OverflowError, UnicodeError),
    ):
        return None


def marked(text: str) -> tuple[str, dict[int, int]]:
    """Replace characters that are illegal in XML by unused private-use characters.

    Returns:
        The text, and the table for ``str.translate`` that restores the characters.
    """
    used = set(text)
    first = next(
        (one for one in PRIVATE if used.isdisjoint(map(chr, range(one, one + 64)))),
        None,
    )
    if first is None:
        raise NoJmsMap
    marks: dict[int, int] = {}

    def mark(code: int) -> str:
        place = first + (code if code < 32 else code - 0xFFFE + 32)
        marks[place] = code
        return chr(place)

    def of_reference(found: re.Match[str]) -> str:
        code = int(found[1], 16)
        return mark(code) if RAW.match(chr(code)) else found[0]

    text = REFERENCE.sub(of_reference, text)
    return RAW.sub(lambda found: mark(ord(found[0])), text), marks


def value_of(found: Element, marks: dict[int, int], deeper: int) -> Any:
    """The value of an element.

    Raises:
        NoJmsMap: the element is unknown here.
        ValueError: the text is no value of the element's type.
    """
    if found.tag == "char" and found.attrib == {"null": "true"}:
        return Char("\0")
    if found.attrib or (found.tag in ("map", "list") and not deeper):
        raise NoJmsMap
    if found.tag == "map":
        return dict(entry_of(one, marks, deeper - 1) for one in found)
    if found.tag == "list":
        return [value_of(one, marks, deeper - 1) for one in found]
    if len(found) or found.tag not in READERS:
        raise NoJmsMap
    return READERS[found.tag]((found.text or "").translate(marks))


def entry_of(found: Element, marks: dict[int, int], deeper: int) -> tuple[str, Any]:
    if found.tag != "entry" or len(found) != 2 or found[0].tag != "string":
        raise NoJmsMap
    name, value = found
    return value_of(name, marks, deeper), value_of(value, marks, deeper)


def boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise NoJmsMap
    return text == "true"


def single(text: str) -> Float:
    (value,) = unpack(">f", pack(">f", float(text)))
    return Float(value)


def within(kind: type[int], bits: int) -> Callable[[str], int]:
    """A function that reads a signed integer with this many bits."""

    def read(text: str) -> int:
        value = int(text)
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise NoJmsMap
        return kind(value)

    return read


READERS: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "boolean": boolean,
    "byte": within(Byte, 8),
    "short": within(Short, 16),
    "int": within(Int, 32),
    "long": within(int, 64),
    "float": single,
    "double": float,
    "char": lambda text: Char(text or "\0"),
    "byte-array": b64decode,
    "null": lambda text: None,
}
