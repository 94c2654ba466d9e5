"""What the converters of XML have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from broker.config import placeholders
from broker.config.not_here import UNKNOWN, NotHere
from broker.config.xml_tree import INCLUDED, Element, inventory, is_include
from broker.declarations.converters.converted import Converted
from broker.formats.inventory import Path

LONGEST_NAME = 255


def begun(root: Element, empty: Collection[str]) -> Converted:
    """What is the same for all elements: placeholders, includes, schemas and groups.

    Args:
        root: the document, whose placeholders are replaced.
        empty: names of groups that say nothing if nothing is in them.
    """
    filled = list(placeholders.fill(root))
    found = Converted(inventory(root))
    for path, why in filled:
        found.parts.name(why, path)
    for element in root.everything():
        if is_include(element):
            found.parts.name(INCLUDED, element.path)
        elif element.name in empty and element.path in found.parts.paths:
            found.parts.default(element.path)
        found.parts.default(*map(element.at, filter(is_of_schema, element.attributes)))
    return found


def is_of_schema(attribute: str) -> bool:
    """Whether an attribute says only where the schema of the document is."""
    return attribute.startswith("{http://www.w3.org/2001/XMLSchema-instance}")


def sort_out(
    table: Mapping[str, NotHere], name: str, text: str, path: Path, found: Converted
) -> None:
    """Name the reason why a part is not converted, unless it asks for the default
    here."""
    known = table.get(name, UNKNOWN)
    if text.lower() in known.same and path in found.parts.paths:
        found.parts.default(path)
    elif text.lower() in known.same:
        found.parts.default(*(one for one in found.parts.paths if one[:-1] == path))
    else:
        found.parts.name(known.why, path)


def has_name(element: Element, found: Converted) -> bool:
    """Whether an element has a name that is valid here; if not, a comment names it."""
    why = fault_of_name(element.attributes.get("name", ""))
    if why:
        found.parts.name(f"{why} It is left out.", element.path)
    return not why


def fault_of_name(name: str) -> str:
    """Why a name is not valid here, as a sentence; empty: it is valid."""
    if placeholders.is_open(name):
        return placeholders.UNKNOWN
    if not name.strip():
        return "It has no name."
    if not name.isprintable() or len(name) > LONGEST_NAME:
        return f"A name has at most {LONGEST_NAME} characters, all of which are seen."
    return ""
