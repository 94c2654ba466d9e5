"""Own columns of lists of messages: a property, or the value at a path of a JSON body.

A person chooses up to five for each list: for the lists of one queue, or for all lists.
A cookie keeps the choice, as other preferences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from broker.formats.filters import paths
from broker.formats.filters.paths import Steps

COOKIE = "own-columns"
MOST = 5  # columns of one list
LONGEST = 100  # most characters of a column as it is written
LONGEST_QUEUE = 255  # most characters of a queue's name
LONGEST_COOKIE = 3000  # most characters; the oldest choices give way
EVERYWHERE = ""  # in place of a queue: all lists
PROPERTY, BODY = "properties.", "body."
ELEMENT = re.compile("-?[0-9]{1,9}")
UNKNOWN = (
    "A column is a property, as properties.tenant, or a path, as body.customer.id."
)
TOO_LONG = f"The name of a column has at most {LONGEST} characters."
TOO_MANY = f"A list has at most {MOST} own columns. Remove one first."


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """One column: its steps lead into the body, or are the name of a property."""

    text: str  # in its normal form
    steps: Steps
    is_property: bool

    @classmethod
    def of(cls, text: str) -> OwnColumn:
        """Read a column.

        Raises:
            ValueError: it is not one; with a sentence for the person.
        """
        text = text.strip()
        if len(text) > LONGEST:
            raise ValueError(TOO_LONG)
        if not text.isprintable():
            raise ValueError(UNKNOWN)
        if text.startswith("h."):  # as filters write it
            text = PROPERTY + text.removeprefix("h.")
        if text.startswith(PROPERTY) and text != PROPERTY:
            return cls(text, (text.removeprefix(PROPERTY),), is_property=True)
        if not text.startswith(BODY):
            raise ValueError(UNKNOWN)
        try:
            steps = paths.read(text.removeprefix(BODY))
        except ValueError as error:
            raise ValueError(f"{UNKNOWN} Here {error}.") from error
        return cls(BODY + paths.write(steps), steps, is_property=False)

    @property
    def label(self) -> str:
        """Its name without the prefix."""
        return self.text.partition(".")[2]

    def value(self, properties: Mapping[str, Any], document: Any) -> str | None:
        """Its value in a message, as text; None if there is none.

        Args:
            properties: of the message.
            document: what its body is as JSON; None if it is not read.
        """
        found = values_at(properties if self.is_property else document, self.steps)
        return ", ".join(map(written, found)) if found else None


def values_at(value: Any, steps: Steps) -> list[Any]:
    """The values at a path, as a search finds them."""
    found = [value]
    for step in steps:
        found = [inner for one in found for inner in inside(one, step)]
    return found


def inside(value: Any, step: str | None) -> list[Any]:
    if isinstance(value, list):
        if step is None:
            return value
        number = int(step) if ELEMENT.fullmatch(step) else len(value)
        return [value[number]] if -len(value) <= number < len(value) else []
    return [value[step]] if isinstance(value, Mapping) and step in value else []


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """The columns that a person has chosen: each with its queue, or ``EVERYWHERE``."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, cookie: str) -> Choice:
        """The choice in a cookie; what is not one in it is left out."""
        try:
            found = json.loads(unquote(cookie))
            pairs = [(str(on), OwnColumn.of(str(text)).text) for on, text in found]
        except (ValueError, TypeError, RecursionError):
            return cls()
        return cls(tuple(dict.fromkeys(pairs)))

    @property
    def cookie(self) -> str:
        """The value of the cookie."""
        pairs = list(self.pairs)
        while len(text := quote(json.dumps(pairs))) > LONGEST_COOKIE:
            pairs.pop(0)
        return text

    def on(self, queue: str) -> list[tuple[str, OwnColumn]]:
        """The columns of a list of this queue, those of all lists first; each with
        where it was chosen."""
        return [
            (on, OwnColumn.of(text))
            for scope in dict.fromkeys((EVERYWHERE, queue))
            for on, text in self.pairs
            if on == scope
        ][:MOST]

    def plus(self, queue: str, text: str) -> Choice:
        """With one more column.

        Raises:
            ValueError: it is not a column, or there are too many; with a sentence.
        """
        pair = queue, OwnColumn.of(text).text
        if pair in self.pairs:
            return self
        if len(self.on(queue)) >= MOST:
            raise ValueError(TOO_MANY)
        return Choice((*self.pairs, pair))

    def minus(self, queue: str, text: str) -> Choice:
        return Choice(tuple(one for one in self.pairs if one != (queue, text)))
