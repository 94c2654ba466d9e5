"""The syntax tree of a selector: conditions and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias

from broker.formats.selectors.patterns import Pattern

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Scalar: TypeAlias = str | bool | int | Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A header field or a property of the message."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Approximate numbers are fractions, whole numbers are int."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Negative:
    """The negative of a number."""

    operand: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An arithmetic operation on two numbers."""

    operator: Literal["+", "-", "*", "/"]
    left: Value
    right: Value


Value: TypeAlias = Name | Constant | Negative | Arithmetic


@dataclass(frozen=True, slots=True)
class Is:
    """A boolean value as a condition."""

    operand: Name | Constant


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    operator: Operator
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class In:
    """The value of the name is one of these strings."""

    name: Name
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Like:
    """The value of the name is a string that the pattern matches."""

    name: Name
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class IsNull:
    """The name has no value."""

    name: Name


@dataclass(frozen=True, slots=True)
class Not:
    """The condition is false."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class All:
    """Each condition is true."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one condition is true."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Is | Comparison | In | Like | IsNull | Not | All | Any


def names(node: object) -> Iterator[str]:
    """The names in a condition, or in any part of one."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, tuple):
        for part in node:
            yield from names(part)
    elif isinstance(node, Condition | Value):
        for one in fields(node):
            yield from names(getattr(node, one.name))
