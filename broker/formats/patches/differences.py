"""The values that a repair changes in a message, before and after.

Messages in which the same values change have the same kinds of changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from broker.formats import lossless_json
from broker.formats.patches.applying import Repair, Subject

MOST = 50  # most changes recorded of one message
LONGEST = 200  # most characters of a value, or of its path
NOTHING: Any = object()
TYPES = {
    '"': "text",
    "{": "object",
    "[": "array",
    "t": "boolean",
    "f": "boolean",
    "n": "null",
}  # types of JSON values by first character; others are numbers


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One changed value."""

    where: str  # name of a header, or path in the body
    before: str | None  # the value as JSON; None: the value did not exist
    after: str | None

    @property
    def kind(self) -> str:
        """The kind of change: the operation, the path without indexes of arrays, and
        the types in JSON if they differ."""
        path = generic(self.where)
        if self.before is None or self.after is None:
            return f"{'remove' if self.after is None else 'add'} {path}"
        types = [json_type(self.before), json_type(self.after)]
        change = f" ({' becomes '.join(types)})" if types[0] != types[1] else ""
        return f"replace {path}{change}"


def changes(subject: Subject, repair: Repair) -> list[ValueChange]:
    """The changes of a repair, at most ``MOST`` of them."""
    return list(islice(all_changes(subject, repair), MOST))


def all_changes(subject: Subject, repair: Repair) -> Iterator[ValueChange]:
    for name in sorted(repair.without):
        yield changed(name, subject.headers[name], NOTHING)
    for name, value in repair.headers.items():
        yield changed(name, subject.headers.get(name, NOTHING), value)
    if repair.body is not None and subject.body is not None:
        read = (
            lossless_json.loads(subject.text_of(body).text)
            for body in (subject.body, repair.body)
        )
        yield from between("", *read)


def between(where: str, before: Any, after: Any) -> Iterator[ValueChange]:
    """The values that differ; arrays are compared by index."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            below = f"{where}/{escaped(name)}"
            one, other = before.get(name, NOTHING), after.get(name, NOTHING)
            yield from between(below, one, other)
    elif isinstance(before, list) and isinstance(after, list):
        pairs = zip_longest(before, after, fillvalue=NOTHING)
        for place, (one, other) in enumerate(pairs):
            yield from between(f"{where}/{place}", one, other)
    elif is_other(before, after):
        yield changed(where, before, after)


def is_other(before: Any, after: Any) -> bool:
    if before is NOTHING or after is NOTHING:
        return before is not after
    return type(before) is not type(after) or (
        before.text != after.text
        if isinstance(before, lossless_json.Number)
        else before != after
    )


def changed(where: str, before: Any, after: Any) -> ValueChange:
    return ValueChange(
        cut(where or "the whole body"), write_value(before), write_value(after)
    )


def write_value(value: Any) -> str | None:
    return None if value is NOTHING else cut(lossless_json.dumps(value))


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def json_type(text: str) -> str:
    """The type of a value, by the beginning of its JSON."""
    return TYPES.get(text[:1], "number")


def generic(where: str) -> str:
    """A path with ``*`` instead of indexes of arrays."""
    return "/".join("*" if part.isdigit() else part for part in where.split("/"))
