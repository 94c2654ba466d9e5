"""The same error, whatever numbers and names stand in it.

Dead letters are looked at by cause: a thousand messages with "row 17", "row 18" … are
one thing to mend. What varies between them is taken out of the text, and the rest is
the group.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

LONGEST = 1000  # characters of an error that are kept

# In this order: what is quoted first, then shapes of ids, then any number.
VARIABLES = (
    (re.compile(r"(?<!\w)'[^']*'|\"[^\"]*\"|“[^”]*”|`[^`]*`"), "{text}"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I), "{id}"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?"), "{time}"),
    (
        # One name for both: an id may happen to have no letter, a number to be long.
        re.compile(
            r"\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{8,}\b(?![.,]\d)"
            r"|\b0x[0-9a-f]+\b|\d+(?:[.,]\d+)*",
            re.I,
        ),
        "{n}",
    ),
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A short name for a group of errors, and what they have in common."""

    key: str  # 12 hexadecimal digits
    pattern: str


def readable(error: str) -> str:
    """An error as it can be kept: cut, and without what PostgreSQL's text cannot hold.

    What a consumer says of a message is as hostile as the message.
    """
    visible = error[:LONGEST].replace("\0", "\\0")
    return visible.encode(errors="backslashreplace").decode()


def fingerprint(error: str) -> Fingerprint:
    """The group that an error belongs to; its first line decides.

    Every text has one, also the empty text. Linear in the length of the error, which is
    cut before anything is searched.
    """
    pattern = (error[:LONGEST].splitlines() or [""])[0].strip()
    for variable, name in VARIABLES:
        pattern = variable.sub(name, pattern)
    key = hashlib.sha256(pattern.encode(errors="replace")).hexdigest()[:12]
    return Fingerprint(key, pattern)
