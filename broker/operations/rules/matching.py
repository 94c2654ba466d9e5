"""Match rules against a letter. Pure functions.

Source:
    IBM MQ documentation, "DLQ rules table conventions": ``*`` is any run of characters,
    also none, ``?`` is one; trailing blanks do not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from broker.operations.rules.table import ANY, Rule

ANY_RUN, ANY_ONE = ANY, "?"
WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Letter:
    """The facts of a dead letter that rules can match."""

    message_id: int
    parent_id: int  # id of the message that the letter is a copy of
    died_at: datetime
    origin_queue: str  # queue to which an action RETRY sends the letter
    texts: dict[str, str]  # text values by keyword
    numbers: dict[str, int]  # numbers by keyword
    properties: dict[str, str] = field(default_factory=dict)
    size_bytes: int = 0  # size of body and headers
    # False: the broker did not dead-letter it; a program put it on the queue, with an
    # MQDLH.
    has_story: bool = True


def fits(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern. The search goes back only to the last ``*``, so
    its time is at most the product of the two lengths."""
    text, place, spot = text.rstrip(" "), 0, 0
    star, retry = -1, 0
    while place < len(text):
        sign = pattern[spot] if spot < len(pattern) else ""
        if sign == ANY_RUN:
            star, retry = spot, place
            spot += 1
        elif sign and sign in (ANY_ONE, text[place]):
            spot, place = spot + 1, place + 1
        elif star >= 0:
            retry += 1
            spot, place = star + 1, retry
        else:
            return False
    return not pattern[spot:].strip(ANY_RUN)


def matches(rule: Rule, letter: Letter, found: Collection[str] = ()) -> bool:
    """Whether all patterns of a rule match a letter.

    Args:
        rule: the rule.
        letter: the facts of the letter.
        found: the filters that match the letter, as text.
    """
    return all(fits_one(key, value, letter, found) for key, value in rule.patterns)


def fits_one(
    key: str, value: str | int, letter: Letter, found: Collection[str]
) -> bool:
    if isinstance(value, int):
        return letter.numbers[key] == value
    if key == "FILTER":
        return value in found
    if key == "PROPERTY":
        name, _, wanted = value.partition("=")
        has = letter.properties.get(name)
        return has is not None and fits(wanted, has)
    return fits(value, letter.texts[key])


def covers(earlier: Rule, later: Rule) -> bool:
    """Whether a rule certainly matches all letters that a later rule matches. If so,
    the later rule applies only after the attempts of the earlier rule are used up."""
    said = dict(later.patterns)
    return all(
        key in said and is_within(key, said[key], value)
        for key, value in earlier.patterns
    )


def is_within(key: str, narrow: str | int, wide: str | int) -> bool:
    if narrow == wide:
        return True
    if isinstance(narrow, int) or isinstance(wide, int) or key == "FILTER":
        return False
    return not WILD.search(narrow) and fits(wide, narrow)
