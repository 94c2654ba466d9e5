"""The elements of a ``jmsbridge`` document: their checks and their values."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

from broker.bridges.config.documents import as_read
from broker.bridges.config.faults import OURS
from broker.bridges.config.jmsbridge_table import (
    ATTRIBUTES,
    CHILDREN,
    DESCRIBED,
    DESCRIPTION_OF_BRIDGE,
    PROPERTIES,
    REQUIRED,
    SEALED,
    WITHOUT_DESCRIPTION,
    column_of,
)
from broker.config.xml_tree import DECIMAL, WHOLE, Element
from broker.errors.settings import WrongSettings


def look_at(root: Element) -> None:
    """Check an element and all elements within it against the document type.

    Raises:
        WrongSettings: an element does not conform.
    """
    waiting = [root]
    while waiting:
        one = waiting.pop()
        look_at_attributes(one)
        if one.text and one.name != "description":
            raise WrongSettings(one.where, "It cannot contain text. Remove the text.")
        for child in one.children:
            if child.name not in CHILDREN.get(one.name, ()):
                raise WrongSettings(
                    child.where, f"It is not allowed in <{one.name}>. Remove it."
                )
        waiting.extend(one.children)


def look_at_attributes(element: Element) -> None:
    known = attributes_of(element.name)
    for name in element.attributes:
        if name not in known:
            words = ", ".join(known) or "none"
            raise WrongSettings(
                element.where, f"There is no attribute {name!r}. These exist: {words}."
            )
    for name in REQUIRED.get(element.name, ()):
        if name not in element.attributes:
            raise WrongSettings(element.where, f"It needs the attribute {name!r}.")


def attributes_of(element: str) -> list[str]:
    if element == "property":
        return ["name", "value"]
    more = ["password"] if element == "connection-factory" else []
    return [*ATTRIBUTES.get(element, ()), *more]


def values(element: Element) -> dict[str, Any]:
    """The field values of an element's attributes and of our properties, without
    references.

    Raises:
        WrongSettings: a value is not of its field's type.
    """
    found: dict[str, Any] = {}
    for name, column in ATTRIBUTES[element.name].items():
        if (
            name in element.attributes
            and not column_of(element.name, column).is_relation
        ):
            found[column] = value(element, name, column, element.attributes[name])
    given = properties(element)
    for name, column in PROPERTIES.get(element.name, {}).items():
        if name in given:
            found[column] = value(element, name, column, given[name])
    if element.name not in WITHOUT_DESCRIPTION:
        where = DESCRIBED.get(element.name, "description")
        texts = [one.text for one in named(element, "description")]
        found[where] = as_read("\n".join(texts))
    return found


def value(element: Element, name: str, column: str, text: str) -> Any:
    """A text as the value of a field.

    Raises:
        WrongSettings: the text is no value of the field's type.
    """
    kind = column_of(element.name, column)
    if isinstance(kind, models.BooleanField):
        if text in ("true", "false"):  # the only values of the document type
            return text == "true"
        words = "true or false"
    elif isinstance(kind, models.IntegerField):
        if WHOLE.fullmatch(text.strip()):
            return int(text)
        words = "a whole number"
    elif isinstance(kind, models.FloatField):
        if DECIMAL.fullmatch(text.strip()):
            return float(text)
        words = "a number"
    else:
        return text
    raise WrongSettings(element.where, f"{name} must be {words}, not {text[:40]!r}.")


def properties(element: Element) -> dict[str, str]:
    """All ``<property>`` elements, including our own properties.

    Raises:
        WrongSettings: a name is given twice, or has our prefix but is unknown.
    """
    found: dict[str, str] = {}
    ours = {*PROPERTIES.get(element.name, ())}
    if element.name == "connection-factory":
        ours.add(SEALED)
    for one in named(element, "property"):
        name = one.attributes["name"]
        if name in found:
            raise WrongSettings(one.where, f"{name!r} is given twice. Remove one.")
        if name.startswith(OURS) and name not in ours:
            words = ", ".join(sorted(ours - {SEALED})) or "none"
            raise WrongSettings(
                one.where, f"There is no property {name!r} here. These exist: {words}."
            )
        found[name] = one.attributes["value"]
    return found


def others(element: Element) -> dict[str, str]:
    """The properties that do not have our prefix."""
    every = properties(element).items()
    return {name: text for name, text in every if not name.startswith(OURS)}


def named(element: Element, name: str) -> list[Element]:
    """The child elements with this name."""
    return [one for one in element.children if one.name == name]


def described(root: Element) -> str:
    try:
        said = json.loads(root.instructions[DESCRIPTION_OF_BRIDGE])
    except ValueError:
        said = None
    if not isinstance(said, str):
        raise WrongSettings(
            root.where, f"<?{DESCRIPTION_OF_BRIDGE}?> must be a text, written as JSON."
        )
    return as_read(said)
