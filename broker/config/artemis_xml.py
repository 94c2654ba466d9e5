"""Address settings in the XML of ActiveMQ Artemis: ``<address-settings>``.

They are read alone or inside a whole broker.xml, with or without its namespace. What
this broker does not keep, and what cannot be read, is listed in the result with the
reason; a value that cannot be read loses itself, not its setting.

Source:
    ActiveMQ Artemis manual, "Address Settings"; FileConfigurationParser: of two
    settings with one match the first counts, and of two equal elements the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from broker.config import artemis_patterns, placeholders
from broker.config.artemis_elements import ELEMENTS, FIELDS, not_here
from broker.config.documents import (
    KINDS,
    MAY_BE_EMPTY,
    Document,
    LeftOut,
    defined,
    fault_of,
)
from broker.config.xml_tree import INCLUDED, Element, is_include, parsed, value_of
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Path
from broker.formats.wildcards import Syntax
from broker.models import AddressSetting

NAMESPACE = "urn:activemq:core"
TWICE = "It is given again below, and the last counts."


@dataclass(slots=True)
class SettingRead:
    """What was read of one ``<address-setting>``."""

    element: Element
    match: str  # pattern in this broker's syntax
    setting: AddressSetting | None = None  # None: no value can be imported
    taken: list[Path] = field(default_factory=list)
    # Parts that ask for what this broker always does.
    same: list[Path] = field(default_factory=list)
    # Elements that are not imported, each with the reason.
    left: list[tuple[Element, str]] = field(default_factory=list)


def read(text: str | bytes) -> Document:
    """The address settings of a document.

    Raises:
        WrongSettings: the document is not XML, or has no address settings.
    """
    root = parsed(text)
    filled = dict(placeholders.fill(root))
    groups = list(root.named("address-settings"))
    if not groups:
        raise WrongSettings(
            "", "There is no <address-settings> in it. Wrap the settings into one."
        )
    syntax, _ = artemis_patterns.syntax_of(root)
    found, left_out = [], list(beside(root, groups))
    for one in (one for group in groups for one in settings_of(group, syntax)):
        found += [] if one.setting is None else [one.setting]
        left_out += [
            LeftOut(f"line {part.line}", one.match, part.name, why, part.describe())
            for part, why in one.left
        ]
        left_out += [
            LeftOut(f"line {part.line}", one.match, part.name, filled[path])
            for part in one.element.everything()
            for path in part.parts()
            if path in filled
        ]
    return Document(found, left_out)


def beside(root: Element, groups: Sequence[Element]) -> Iterator[LeftOut]:
    """What is no address setting: all of it in one sentence, and what stands among
    the settings one by one."""
    above = {
        path[:size]
        for path in (one.path for one in groups)
        for size in range(len(path))
    }
    others = [
        child
        for one in root.everything()
        if one.path in above
        for child in one.children
        if child.path not in above and child not in groups
    ]
    if others:
        names = ", ".join(dict.fromkeys(one.name for one in others))
        why = (
            "Only address settings are imported. Convert the file for all else:"
            " manage.py backout convert artemis."
        )
        yield LeftOut(f"line {others[0].line}", "", names, why)
    for one in (child for group in groups for child in group.children):
        if one.name != "address-setting":
            yield LeftOut(
                f"line {one.line}", "", one.name, stranger(one), one.describe()
            )


def stranger(element: Element) -> str:
    """Why an element among the settings is not a setting."""
    if is_include(element):
        return INCLUDED
    return "Only <address-setting> can stand here."


def settings_of(group: Element, syntax: Syntax) -> Iterator[SettingRead]:
    """The settings of an ``<address-settings>``, each with what was left out.

    Args:
        group: the element.
        syntax: the wildcards of the document.
    """
    known: set[str] = set()
    for one in group.children:
        if one.name == "address-setting":
            found = read_one(one, syntax)
            if found.setting is not None and found.match in known:
                why = f"There is a setting of {found.match} above, which counts there."
                found = SettingRead(one, found.match, left=[(one, why)])
            known.add(found.match)
            yield found


def read_one(element: Element, syntax: Syntax) -> SettingRead:
    """Read one setting."""
    said = element.attributes.get("match", "")
    found = SettingRead(element, said)
    values: dict[str, Any] = {}
    sources: dict[str, Element] = {}
    try:
        if placeholders.is_open(said):
            raise ValueError(placeholders.UNKNOWN)
        found.match = artemis_patterns.translated(said, syntax)
    except ValueError as error:
        found.left.append((element, f"The setting is left out. {error}"))
        return found
    for child in element.children:
        try:
            if child.name in FIELDS:
                name = FIELDS[child.name]
                values[name] = field_of(child, name)
                if name in sources:
                    found.left.append((sources[name], TWICE))
                sources[name] = child
            elif why := not_here(child.name, child.text):
                found.left.append((child, why))
            else:
                found.same += child.parts()
        except ValueError as error:
            found.left.append((child, str(error)))
    keep(found, values, sources)
    return found


def keep(
    found: SettingRead, values: dict[str, Any], sources: dict[str, Element]
) -> None:
    """Make the setting of all values that can be stored."""
    while fault := fault_of(found.match, values):
        name, why = fault
        if name not in values:
            found.left.append((found.element, f"The setting is left out. {why}"))
            return
        found.left.append((sources.pop(name), why))
        del values[name]
    found.setting = AddressSetting(match=found.match, **values)
    found.taken.append(found.element.at("match"))
    found.taken += [part for one in sources.values() for part in one.parts()]


def field_of(element: Element, name: str) -> Any:
    """An element's text as a field's value.

    Raises:
        ValueError: the text is not of the field's type.
    """
    kind, text = KINDS[name], element.text
    if placeholders.is_open(text):
        raise ValueError(placeholders.UNKNOWN)
    if element.children or element.attributes:
        raise ValueError("It must have text only.")
    if kind is str and not (text or name in MAY_BE_EMPTY):
        raise ValueError("It cannot be empty. Give a value.")
    return value_of(kind, text)


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
