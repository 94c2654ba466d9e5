"""Write a bridge as Open MQ's configuration XML for JMS bridges.

An attribute with the default of the document type is left out. Passwords are never in
an exported document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from broker.bridges.config.documents import Document, as_read, name_of
from broker.bridges.config.faults import Part
from broker.bridges.config.jmsbridge_table import (
    ADDRESS,
    ATTRIBUTES,
    DESCRIBED,
    DESCRIPTION_OF_BRIDGE,
    DOCTYPE,
    PROPERTIES,
    REQUIRED,
    SEALED,
    WITH_PROPERTIES,
    WITHOUT_DESCRIPTION,
    column_of,
    default_of,
)
from broker.bridges.providers.registry import HERE
from broker.models import ConnectionFactory
from broker.models.bridge_names import AS_SOURCE

Tree = ElementTree.Element
REMARK = (
    " Its password is not written out. Open MQ needs it as the attribute password. "
)
# Attributes that are always written, because Open MQ has no default for them.
ALWAYS = {("destination", "type")}


def write(document: Document, *, sealed: bool = False) -> str:
    """The document as XML; reading it gives an equal document.

    Args:
        sealed: include encrypted passwords, for reading it back at once; such a
            document must not be exported.
    """
    root = ElementTree.Element("jmsbridge", attributes("jmsbridge", document.bridge))
    if text := as_read(document.bridge.description):
        said = json.dumps(text).replace("?>", "?\\u003e")
        root.append(ElementTree.ProcessingInstruction(DESCRIPTION_OF_BRIDGE, said))
    for link in document.links:
        one = add(root, "link", link)
        add(one, "source", link)
        add(one, "target", link)
    for queue in document.dead_queues:
        add(root, "dmq", queue)
    for factory in document.factories:
        one = add(root, "connection-factory", factory)
        if factory.secret and sealed:
            ElementTree.SubElement(one, "property", name=SEALED, value=factory.secret)
        elif factory.secret:
            one.append(ElementTree.Comment(REMARK))
    for destination in document.destinations:
        add(root, "destination", destination)
    ElementTree.indent(root)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n{DOCTYPE}\n'
    return head + ElementTree.tostring(root, encoding="unicode") + "\n"


def add(parent: Tree, name: str, part: Part) -> Tree:
    element = ElementTree.SubElement(parent, name, attributes(name, part))
    if name not in WITHOUT_DESCRIPTION:
        text = as_read(getattr(part, DESCRIBED.get(name, "description")))
        if text:
            ElementTree.SubElement(element, "description").text = text
    if name in WITH_PROPERTIES:
        for key, text in properties(name, part).items():
            ElementTree.SubElement(element, "property", name=key, value=text)
    return element


def attributes(name: str, part: Part) -> dict[str, str]:
    """The required attributes, and those that differ from the defaults."""
    found: dict[str, str] = {}
    for attribute, field in ATTRIBUTES[name].items():
        value = getattr(part, field)
        if column_of(name, field).is_relation:
            found[attribute] = AS_SOURCE if value is None else name_of(value)
        elif is_written(name, attribute, field, value):
            found[attribute] = write_value(value)
    return found


def is_written(name: str, attribute: str, field: str, value: Any) -> bool:
    if (name, attribute) in ALWAYS or attribute in REQUIRED.get(name, ()):
        return True
    return value not in ("", default_of(name, field))


def properties(name: str, part: Part) -> Mapping[str, str]:
    """The operator's properties, and after them our own properties."""
    given: dict[str, str] = dict(getattr(part, "properties"))  # noqa: B009
    for key, field in PROPERTIES.get(name, {}).items():
        value = getattr(part, field)
        if value != expected(name, field, part):
            given[key] = write_value(value)
    return given


def expected(name: str, field: str, part: Part) -> Any:
    """The value that a reader assumes if the property is missing."""
    if isinstance(part, ConnectionFactory) and field == "provider":
        elsewhere = part.lookup_name or ADDRESS in part.properties
        return "" if elsewhere else HERE
    return default_of(name, field)


def write_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
