"""Evaluate a condition in Python. None means unknown, the third truth value of SQL."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any as Anything

from broker.formats.selectors.conditions import (
    All,
    Any,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    In,
    Is,
    IsNull,
    Like,
    Name,
    Negative,
    Not,
    Operator,
    Scalar,
    Value,
)

COMPARE: dict[Operator, Callable[[Anything, Anything], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def decide(condition: Condition, document: Mapping[str, object]) -> bool | None:
    """Whether the condition is true for a document; None means unknown."""
    match condition:
        case Not(inner):
            decided = decide(inner, document)
            return None if decided is None else not decided
        case All(conditions):
            return first(conditions, document, decisive=False)
        case Any(conditions):
            return first(conditions, document, decisive=True)
    return decide_one(condition, document)


def first(
    conditions: Iterable[Condition], document: Mapping[str, object], *, decisive: bool
) -> bool | None:
    """Evaluate AND or OR: ``decisive`` if one condition has this value; else None if
    the value of a condition is unknown; else the opposite of ``decisive``."""
    decided: bool | None = not decisive
    for condition in conditions:
        one = decide(condition, document)
        if one is decisive:
            return decisive
        if one is None:
            decided = None
    return decided


def decide_one(
    condition: Is | Comparison | In | Like | IsNull, document: Mapping[str, object]
) -> bool | None:
    match condition:
        case Is(operand):
            truth = value_of(operand, document)
            return truth if isinstance(truth, bool) else None
        case Comparison(sign, left, right):
            return compare(sign, value_of(left, document), value_of(right, document))
        case IsNull(name):
            return value_of(name, document) is None
    return is_like(condition, value_of(condition.name, document))


def is_like(condition: In | Like, value: Scalar | None) -> bool | None:
    if not isinstance(value, str):
        return None if value is None else False
    if isinstance(condition, In):
        return value in condition.values
    return condition.pattern.matches(value)


def compare(sign: Operator, left: Scalar | None, right: Scalar | None) -> bool | None:
    """Compare two values; any comparison of different types is false."""
    if left is None or right is None:
        return None
    kind = kind_of(left)
    if kind is not kind_of(right):
        return False
    if kind is not Fraction and sign not in ("=", "<>"):
        return False
    return COMPARE[sign](left, right)


def kind_of(value: Scalar) -> type:
    """The type for comparisons: all numbers have the same type."""
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else Fraction


def value_of(value: Value, document: Mapping[str, object]) -> Scalar | None:
    match value:
        case Name(name):
            return scalar(document.get(name))
        case Constant(constant):
            return constant
        case Negative(operand):
            number = number_of(operand, document)
            return None if number is None else -number
    left, right = number_of(value.left, document), number_of(value.right, document)
    return None if left is None or right is None else calculate(value, left, right)


def scalar(value: object) -> Scalar | None:
    """The value of a property; None if selectors do not support the value's type."""
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int) else None


def number_of(value: Value, document: Mapping[str, object]) -> int | Fraction | None:
    number = value_of(value, document)
    is_one = isinstance(number, int | Fraction) and not isinstance(number, bool)
    return number if is_one else None  # type: ignore[return-value]


def calculate(
    value: Arithmetic, left: int | Fraction, right: int | Fraction
) -> int | Fraction | None:
    match value.operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if right == 0:
        return None
    quotient = Fraction(left) / right
    whole = isinstance(left, int) and isinstance(right, int)
    return math.trunc(quotient) if whole else quotient
