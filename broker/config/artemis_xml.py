"""Address settings in the XML of ActiveMQ Artemis: ``<address-settings>``.

They are read alone or inside a whole broker.xml, with or without its namespace. An
element that this broker does not support is listed in the result. Any other invalid
element makes the whole document invalid.

Source:
    ActiveMQ Artemis manual, "Address Settings"; artemis-configuration.xsd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError

from broker.config.documents import (
    KINDS,
    LARGEST_BYTES,
    MAY_BE_EMPTY,
    Document,
    LeftOut,
    defined,
    made,
    twice,
)
from broker.errors.settings import WrongSettings
from broker.models import AddressSetting

ELEMENTS = {  # elements of Artemis, by field of an address setting
    "dead_letter_address": "dead-letter-address",
    "auto_create_dead_letter_resources": "auto-create-dead-letter-resources",
    "dead_letter_queue_prefix": "dead-letter-queue-prefix",
    "dead_letter_queue_suffix": "dead-letter-queue-suffix",
    "expiry_address": "expiry-address",
    "auto_create_expiry_resources": "auto-create-expiry-resources",
    "expiry_queue_prefix": "expiry-queue-prefix",
    "expiry_queue_suffix": "expiry-queue-suffix",
    "expiry_delay_ms": "expiry-delay",
    "min_expiry_delay_ms": "min-expiry-delay",
    "max_expiry_delay_ms": "max-expiry-delay",
    "no_expiry": "no-expiry",
    "redelivery_delay_ms": "redelivery-delay",
    "redelivery_delay_multiplier": "redelivery-delay-multiplier",
    "redelivery_collision_avoidance_factor": "redelivery-collision-avoidance-factor",
    "max_redelivery_delay_ms": "max-redelivery-delay",
    "max_delivery_attempts": "max-delivery-attempts",
    "send_to_dla_on_no_route": "send-to-dla-on-no-route",
    "auto_delete_queues_delay_ms": "auto-delete-queues-delay",
}
FIELDS = {element: name for name, element in ELEMENTS.items()}
NAMESPACE = "urn:activemq:core"
WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
TRUTHS = {"true": True, "1": True, "false": False, "0": False}  # booleans of XML schema


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

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    @property
    def where(self) -> str:
        return f"line {self.line}, <{self.name}>"

    def named(self, name: str) -> Iterator[Element]:
        """This element and its descendants that have this name."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            if one.name == name:
                yield one
            waiting.extend(reversed(one.children))


class XmlTreeBuilder:
    """Target of an XML parser: builds a tree of ``Element``."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self.open: list[Element] = []
        self.expat: Any = None  # the parser; it knows the current line

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(
            tag.rpartition("}")[2], dict(attributes), self.expat.CurrentLineNumber
        )
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
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


def read(text: str | bytes) -> Document:
    """The address settings of a document.

    Raises:
        WrongSettings: the document is not XML, or has no valid address settings.
    """
    root = parsed(text)
    found: dict[str, AddressSetting] = {}
    left_out: list[LeftOut] = []
    groups = list(root.named("address-settings"))
    if not groups:
        raise WrongSettings(
            "", "There is no <address-settings> in it. Wrap the settings into one."
        )
    for one in (child for group in groups for child in group.children):
        if one.name != "address-setting":
            raise WrongSettings(one.where, "Only <address-setting> can stand here.")
        setting = read_one(one, left_out)
        if setting.match in found:
            raise twice(one.where, setting.match)
        found[setting.match] = setting
    return Document(list(found.values()), left_out)


def parsed(text: str | bytes, *, names_type: bool = False) -> Element:
    """The root of an XML document that declares no entities.

    Args:
        names_type: whether it may name a document type, which is ignored.

    Raises:
        WrongSettings: it is not such XML.
    """
    if len(text) > LARGEST_BYTES:
        raise WrongSettings("", f"It is above {LARGEST_BYTES // 2**20} MiB. Split it.")
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


def read_one(element: Element, left_out: list[LeftOut]) -> AddressSetting:
    """Read one setting; unsupported elements are added to ``left_out``.

    Raises:
        WrongSettings: an element is invalid.
    """
    match = element.attributes.get("match")
    if match is None:
        raise WrongSettings(element.where, 'It needs a match: match="orders.#".')
    values: dict[str, Any] = {}
    where = {"match": f'{element.where} match="{match}"'}
    for child in element.children:
        name = FIELDS.get(child.name)
        if name is None:
            left_out.append(LeftOut(f"line {child.line}", match, child.name))
            continue
        if name in values:
            raise WrongSettings(child.where, "It is given twice. Leave one out.")
        values[name] = value_of(child, name)
        where[name] = child.where
    return made(match, values, where)


def value_of(element: Element, name: str) -> Any:
    """An element's text as a field's value.

    Raises:
        WrongSettings: the text is not of the field's type.
    """
    if element.children:
        raise WrongSettings(element.where, "It must have text only.")
    kind, text = KINDS[name], element.text
    if kind is str and (text or name in MAY_BE_EMPTY):
        return text
    if kind is bool and text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    if kind is int and WHOLE.fullmatch(text):
        return int(text)
    if kind is float and DECIMAL.fullmatch(text):
        return float(text)
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    raise WrongSettings(element.where, f"It must be {words[kind]}, not {text[:40]!r}.")


def write(settings: Iterable[AddressSetting]) -> str:
    """The settings as an element ``<address-settings>`` for broker.xml, ordered by
    pattern.

    A field without an element in Artemis is written as a comment.
    """
    root = ElementTree.Element("address-settings", xmlns=NAMESPACE)
    for setting in sorted(settings, key=lambda one: one.match):
        one = ElementTree.SubElement(root, "address-setting", match=setting.match)
        for name, value in defined(setting).items():
            if name in ELEMENTS:
                child = ElementTree.SubElement(one, ELEMENTS[name])
                child.text = str(value).lower() if type(value) is bool else str(value)
            else:
                one.append(ElementTree.Comment(f" Backout only: {name} = {value} "))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def unknown(settings: Iterable[AddressSetting]) -> list[tuple[str, str]]:
    """The defined fields that have no element in Artemis, with their patterns."""
    return [
        (one.match, name)
        for one in settings
        for name in defined(one)
        if name not in ELEMENTS
    ]
