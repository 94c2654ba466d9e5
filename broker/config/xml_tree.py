"""An XML document as a tree, with the path of each of its parts.

A part is what says something: an attribute, a text, a processing instruction, and an
element that has none of these and nothing in it. Comments say nothing; a CDATA section
is text. Documents with entities of their own are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from broker.config.documents import LARGEST_BYTES
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Inventory, Path
from broker.formats.quantities import write_size

TEXT = "text()"
DEEPEST = 100  # most levels of nested elements
WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
SECRET = re.compile(r"passw|secret|token|credential|passphrase", re.I)
IN_URL = re.compile(r"(?i)((?:\w*(?:passw|secret|token|passphrase)\w*)=)[^&;,\s)\"']+")
LOGIN = re.compile(r"(://[^/@:\s]*:)[^/@\s]+@")  # user:password@ of a URL


@dataclass(slots=True)
class Element:
    """An element and the line where it begins."""

    name: str  # name of the element, without its namespace
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    # Processing instructions within the element, by target.
    instructions: dict[str, str] = field(default_factory=dict)
    namespace: str = ""
    path: Path = ()
    counted: Counter[str] = field(default_factory=Counter)  # children, by name

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    @property
    def where(self) -> str:
        return f"line {self.line}, <{self.name}>"

    def named(self, name: str) -> Iterator[Element]:
        """This element and its descendants that have this name."""
        return (one for one in self.everything() if one.name == name)

    def everything(self) -> Iterator[Element]:
        """This element and its descendants, in the order of the document."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))

    def first(self, name: str) -> Element | None:
        """The first child of this name."""
        return next((one for one in self.children if one.name == name), None)

    def at(self, attribute: str) -> Path:
        """The path of an attribute."""
        return (*self.path, f"@{attribute}")

    @property
    def content(self) -> Path:
        """The path of the text; if there is only the element, the path of the
        element."""
        return (*self.path, TEXT) if self.text else self.path

    def parts(self) -> Iterator[Path]:
        """The paths of this element's attributes, processing instructions and text."""
        yield from map(self.at, self.attributes)
        yield from ((*self.path, f"?{target}") for target in self.instructions)
        if self.text:
            yield (*self.path, TEXT)
        elif not (self.attributes or self.instructions or self.children):
            yield self.path

    def describe(self) -> str:
        """The content of the element, for a sentence, without passwords."""
        words = [
            f'{name}="{mask_secrets(name, text)}"'
            for name, text in self.attributes.items()
        ]
        words += [mask_secrets(self.name, self.text)] if self.text else []
        words += [f"{one.name} ({one.describe()})" for one in self.children]
        return ", ".join(words)


def mask_secrets(name: str, text: str) -> str:
    """A value for a sentence, without passwords."""
    if SECRET.search(name):
        return "…"
    return LOGIN.sub(r"\1…@", IN_URL.sub(r"\1…", " ".join(text.split())))


def inventory(root: Element) -> Inventory:
    """The parts of a document; its places name the line, element and content."""
    every = list(root.everything())
    by_path = {one.path: one for one in every}

    def place(path: Path) -> str:
        element = by_path.get(path) or by_path[path[:-1]]
        if path in by_path or path[-1] == TEXT:
            return f"{element.where} {element.describe()}".rstrip()
        name = str(path[-1]).lstrip("@")
        value = element.attributes.get(name, "")
        return f'{element.where} {name}="{mask_secrets(name, value)}"'

    return Inventory((path for one in every for path in one.parts()), place=place)


class XmlTreeBuilder:
    """Target of an XML parser: builds a tree of ``Element``."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self.open: list[Element] = []
        self.expat: Any = None  # the parser; it knows the current line

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition("}")
        line = self.expat.CurrentLineNumber
        if len(self.open) == DEEPEST:
            raise WrongSettings(f"line {line}", f"It is above {DEEPEST} levels deep.")
        element = Element(
            name, dict(attributes), line, namespace=namespace.removeprefix("{")
        )
        if self.open:
            parent = self.open[-1]
            parent.children.append(element)
            parent.counted[name] += 1
            element.path = (*parent.path, f"{name}[{parent.counted[name]}]")
        else:
            self.root = element
            element.path = (name,)
        self.open.append(element)

    def end(self, _: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        if self.open:
            self.open[-1].texts.append(text)

    def pi(self, target: str, text: str) -> None:
        if self.open:
            self.open[-1].instructions[target] = text

    def close(self) -> Element | None:
        return self.root


def parsed(text: str | bytes, *, names_type: bool = False) -> Element:
    """The root of an XML document that declares no entities.

    Args:
        names_type: whether it may name a document type, which is ignored.

    Raises:
        WrongSettings: it is not such XML.
    """
    if len(text) > LARGEST_BYTES:
        raise WrongSettings("", f"It is above {write_size(LARGEST_BYTES)}. Split it.")
    builder = XmlTreeBuilder()
    parser = DefusedXMLParser(target=builder, forbid_dtd=not names_type)
    builder.expat = parser.parser
    try:
        parser.feed(text)
        root: Element = parser.close()
    except ParseError as error:
        line, column = error.position
        why = str(error).partition(":")[0]
        raise WrongSettings(
            f"line {line}, column {column + 1}", f"This is no XML: {why}."
        ) from None
    except DefusedXmlException:
        raise WrongSettings(
            "", "It declares entities or a document type. Take the declaration out."
        ) from None
    except (ValueError, LookupError):  # the document names an unknown encoding
        raise WrongSettings("", "Its encoding cannot be read. Use UTF-8.") from None
    return root


INCLUDED = (
    "A file is included here, which is not read. Put its content in the place of this"
    " element, and convert it again."
)


def is_include(element: Element) -> bool:
    return element.name == "include" and element.namespace.endswith("XInclude")


def value_of(kind: type, text: str) -> Any:
    """A text as a truth value, a whole number, a number or a text.

    A truth value is as Java has it; Artemis and ActiveMQ read 1 as false.

    Raises:
        ValueError: it is none, with a sentence.
    """
    if kind is str:
        return text
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind is int and WHOLE.fullmatch(text):
        return int(text)
    if kind is float and DECIMAL.fullmatch(text):
        return float(text)
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    raise ValueError(f"It must be {words[kind]}, not {text[:40]!r}.")
