"""Parse the targets of rules: pointers, paths, fields, properties and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import re2

from broker.models.redaction import LONGEST, RedactionRule

Kind = RedactionRule.Kind
STRUCTURED = (Kind.JSON, Kind.XML, Kind.HL7)
OF_BODIES = (*STRUCTURED, Kind.PATTERN)
MEMORY = 2**20  # most bytes of memory for one regular expression
FIELD = re.compile(r"([A-Z][A-Z0-9]{2})-([1-9][0-9]{0,2})(?:\.([1-9][0-9]{0,2}))?")
STEP = re.compile(r"(//?)(@?)([^/@]+)")
ANY, DEEP = "*", "**"

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hl7Field:
    """A field of HL7 version 2, or one of its components."""

    segment: str
    number: int  # number of the field, from 1
    component: int | None = None


def read(kind: str, target: str) -> None:
    """Parse a target of a rule; refuse a target that cannot be parsed.

    Raises:
        ValueError: the reason, as a sentence.
    """
    if len(target) > LONGEST:
        raise ValueError(f"It has more than {LONGEST} characters.")
    READERS[Kind(kind)](target)


@lru_cache(256)
def pointer(target: str) -> Steps:
    """The steps of a JSON pointer (RFC 6901), where ``*`` is any one step.

    Raises:
        ValueError: the target is not a pointer.
    """
    if not target.startswith("/") or re.search("~(?![01])", target):
        raise ValueError("A pointer begins with /, such as /patient/*/name.")
    return tuple(
        step.replace("~1", "/").replace("~0", "~") for step in target[1:].split("/")
    )


@lru_cache(256)
def path(target: str) -> Steps:
    """The steps of a path of elements; the step ``**`` stands for two slashes: any
    number of elements in between.

    Raises:
        ValueError: the target is not a path.
    """
    found: list[str] = []
    at = 0
    while step := STEP.match(target, at):
        slashes, sign, name = step.groups()
        at = step.end()
        found += [DEEP] * (slashes == "//") + [sign + name]
        if sign and at < len(target):
            break
    if not found or at < len(target):
        raise ValueError("A path begins with /, such as /order/customer or //item/@id.")
    return tuple(found)


@lru_cache(256)
def field(target: str) -> Hl7Field:
    """A field such as ``PID-5`` or ``PID-5.1``.

    Raises:
        ValueError: the target is not a field.
    """
    found = FIELD.fullmatch(target)
    if found is None:
        raise ValueError("A field is written PID-5, one of its components PID-5.1.")
    segment, number, component = found.groups()
    return Hl7Field(segment, int(number), int(component) if component else None)


@lru_cache(256)
def property_name(target: str) -> re.Pattern[str]:
    """A pattern for names of properties, where ``*`` stands for any characters.

    Raises:
        ValueError: the target is empty.
    """
    if not target:
        raise ValueError("Give the name of a property.")
    parts = map(re.escape, target.split(ANY))
    return re.compile(".*".join(parts), re.DOTALL | re.IGNORECASE)


@lru_cache(256)
def expression(target: str) -> re2._Regexp[str]:
    """A regular expression of RE2, whose time is linear in the length of the text.

    Raises:
        ValueError: the target is not such an expression, or matches the empty text.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        found = re2.compile(target, options)
    except re2.error as error:
        why = error.args[0] if error.args else ""
        why = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        raise ValueError(f"This is no expression of RE2: {why}.") from None
    if found.search("") is not None:
        raise ValueError("It matches the empty text, which is everywhere.")
    return found


READERS: dict[RedactionRule.Kind, Callable[[str], object]] = {
    Kind.JSON: pointer,
    Kind.XML: path,
    Kind.HL7: field,
    Kind.PROPERTY: property_name,
    Kind.PATTERN: expression,
}
