"""Operations of a patch on headers and properties.

Headers have names such as ``subject``; properties have the prefix ``h.``, as in
filters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from broker.errors.patches import InvalidPatch

FIELDS = {  # the headers that can be changed, and the column of each
    "content-type": "content_type",
    "subject": "subject",
    "correlation-id": "correlation_id",
    "reply-to": "reply_to",
    "group-id": "group_id",
}
PROPERTY = "h."
OWN = ("_AMQ_", "_BRK_")  # prefixes of properties that only the broker writes
# Most characters of a header's name, and of its value.
LONGEST_NAME, LONGEST_VALUE = 250, 16 * 2**10
NEEDS: dict[str, set[str]] = {
    "test": {"value"},
    "set": {"value"},
    "remove": set(),
    "rename": {"to"},
}

Headers = dict[str, Any]  # values by name


@dataclass(frozen=True, slots=True)
class HeaderOperation:
    """One operation on a header: a change, or a test."""

    op: Literal["test", "set", "remove", "rename"]
    name: str
    value: Any = None
    to: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the headers that the operation changes."""
        return () if self.op == "test" else (self.name, *([self.to] if self.to else []))

    @property
    def document(self) -> dict[str, Any]:
        """The operation as JSON, as in a patch."""
        said = {"op": self.op, "name": self.name}
        return said | {need: getattr(self, need) for need in NEEDS[self.op]}


class NotThereError(LookupError):
    """A header to remove or rename does not exist."""


class GuardError(Exception):
    """A header fails a test of the patch."""


def is_own(name: str) -> bool:
    """Whether a property is one that only the broker writes."""
    return name.startswith(tuple(PROPERTY + one for one in OWN))


def names_of(operations: Iterable[HeaderOperation]) -> set[str]:
    """The names of all headers that operations change."""
    return {name for one in operations for name in one.names}


def changed(headers: Headers, operations: Iterable[HeaderOperation]) -> Headers:
    """The headers after operations, applied in order.

    Raises:
        GuardError: a header fails a test.
        NotThereError: a header to remove or to rename does not exist.
    """
    found = dict(headers)
    for one in operations:
        there = one.name in found
        match one.op:
            case "test":
                if not there or not same(found[one.name], one.value):
                    raise GuardError(one.name)
            case "set":
                found[one.name] = one.value
            case "remove" if there:
                del found[one.name]
            case "rename" if there:
                found[one.to] = found.pop(one.name)
            case _:
                raise NotThereError(one.name)
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true does not equal 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def read(said: Any, where: str) -> HeaderOperation:
    """Parse one operation of a patch.

    Raises:
        InvalidPatch: the operation is invalid; with the reason.
    """
    if not isinstance(said, dict):
        raise InvalidPatch("an operation is an object", where)
    op = said.get("op")
    if not isinstance(op, str) or op not in NEEDS:
        raise InvalidPatch("“op” is one of test, set, remove and rename", where)
    wanted = {"op", "name"} | NEEDS[op]
    for name in sorted(wanted - said.keys()):
        raise InvalidPatch(f"“{name}” is missing", where)
    for name in sorted(said.keys() - wanted):
        raise InvalidPatch(f"{op} has no “{name[:50]}”", where)
    is_test = op == "test"
    name = checked_name(said["name"], where, may_be_own=is_test)
    to = checked_name(said["to"], where) if "to" in said else ""
    if "value" in wanted:
        check_value(name, said["value"], where)
    gone = {name} if op in ("remove", "rename") else set()
    if "content-type" in gone | {to}:
        raise InvalidPatch("every message has a content-type; set it instead", where)
    if to in FIELDS and name not in FIELDS:
        raise InvalidPatch(f"only text is a {to}, and a property may be none", where)
    return HeaderOperation(op, name, said.get("value"), to)  # type: ignore[arg-type]


def checked_name(name: Any, where: str, *, may_be_own: bool = False) -> str:
    if not isinstance(name, str) or not (name in FIELDS or is_property(name)):
        others = ", ".join(FIELDS)
        raise InvalidPatch(
            f"{str(name)[:50]!r} is none of {others}; a property is written h.name",
            where,
        )
    if len(name) > LONGEST_NAME or "\0" in name or not is_writable(name):
        raise InvalidPatch("a name is too long, or holds what cannot be kept", where)
    if is_own(name) and not may_be_own:
        raise InvalidPatch(f"{name} is set by the broker only", where)
    return name


def is_property(name: str) -> bool:
    return name.startswith(PROPERTY) and len(name) > len(PROPERTY)


def check_value(name: str, value: Any, where: str) -> None:
    """Refuse a value that the header cannot have."""
    if name in FIELDS and not isinstance(value, str):
        raise InvalidPatch(f"only text is a {name}", where)
    if isinstance(value, dict | list):
        raise InvalidPatch("a property is a text, a number, true, false or null", where)
    if isinstance(value, str) and (
        len(value) > LONGEST_VALUE or "\0" in value or not is_writable(value)
    ):
        raise InvalidPatch("a value is too long, or holds what cannot be kept", where)


def is_writable(text: str) -> bool:
    """Whether a text has no lone surrogates, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
