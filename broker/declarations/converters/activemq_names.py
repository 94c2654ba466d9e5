"""Names of destinations of ActiveMQ Classic, and patterns of them.

Source:
    ActiveMQ Classic, "Wildcards", "Composite Destinations", "Destination Options".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from broker.config import artemis_patterns, placeholders
from broker.config.xml_tree import Element
from broker.declarations.converters.converted import Converted
from broker.formats.inventory import Path
from broker.formats.wildcards import PLAIN, Syntax

SYNTAX = Syntax(any_words=">")
VIRTUAL = "VirtualTopic.>"
KINDS = ("queue", "topic", "tempQueue", "tempTopic")


@dataclass(frozen=True, slots=True)
class PolicyTarget:
    """A pattern of destinations, and the part of the file that has it."""

    pattern: str  # pattern in this broker's syntax
    is_topic: bool
    source: Path


def each_name(text: str) -> list[str]:
    """The destinations of a text, without their kind and options."""
    names = (one.partition("?")[0].strip() for one in text.split(","))
    return [one.partition("://")[2] or one for one in names if one]


def pattern(text: str, *, is_plain: bool = True) -> str:
    """A pattern in the signs of this broker.

    Args:
        text: the pattern there.
        is_plain: whether it is for rights, which have the plain signs, or for address
            settings.

    Raises:
        ValueError: it cannot be said here, with a sentence.
    """
    if placeholders.is_open(text):
        raise ValueError(placeholders.UNKNOWN)
    return artemis_patterns.translated(text, SYNTAX, PLAIN if is_plain else None)


def destinations(
    entry: Element, found: Converted, *, is_plain: bool = False
) -> Iterator[PolicyTarget]:
    """The destinations of an entry; a comment names those that have no equal here."""
    for kind in KINDS:
        for name in each_name(entry.attributes.get(kind, "")):
            try:
                said = pattern(name, is_plain=is_plain)
            except ValueError as error:
                found.parts.name(f"The entry is left out. {error}", entry.path)
            else:
                yield PolicyTarget(said, "opic" in kind, entry.at(kind))
