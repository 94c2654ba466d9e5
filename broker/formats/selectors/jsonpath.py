"""Compile a condition to an SQL/JSON path, which PostgreSQL evaluates.

SQL/JSON paths also have the value unknown, but by other rules than JMS. So a condition
has two translations, for true and for false; NOT switches between them. Each first
checks the types of its values, so that it is never unknown.

Text of a selector is only within quoted strings; numbers are formatted here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

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
    Scalar,
    Value,
)
from broker.formats.selectors.documents import ONLY_IN_PYTHON
from broker.formats.selectors.patterns import Pattern

ALWAYS, NEVER = "(1 == 1)", "(1 == 0)"
SIGNS = {"=": "==", "<>": "!="}
# Characters with a special meaning in regular expressions.
IN_REGEXES = frozenset(r"\.^$|?*+()[]{}")

# Limits of a regular expression, so that it is cheap to compile and to match.
GAPS = 3
ANY_ONES = 8
CHARACTERS = 200


class OnlyInPythonError(Exception):
    """The condition cannot be written as a JSON path."""


def compiled(condition: Condition) -> str | None:
    """A path that is true for a document if the condition is true, else false.

    None if there is no such path: for division, which has other rules in paths, for
    costly patterns, and for names whose values are not in the document.
    """
    try:
        return when(condition, is_true=True)
    except OnlyInPythonError:
        return None


def when(condition: Condition, *, is_true: bool) -> str:
    """A path, in parentheses, that is true if the condition is true; or, if it is
    false."""
    match condition:
        case Not(inner):
            return when(inner, is_true=not is_true)
        case All(conditions) | Any(conditions):
            parts = [when(part, is_true=is_true) for part in conditions]
            return (
                both(parts) if isinstance(condition, All) is is_true else either(parts)
            )
        case Comparison():
            return compared(condition, is_true=is_true)
        case Is(operand):
            return stands(operand, is_true=is_true)
    return about_name(condition, is_true=is_true)


def stands(operand: Name | Constant, *, is_true: bool) -> str:
    if isinstance(operand, Constant):
        return ALWAYS if operand.value is is_true else NEVER
    return both(
        [has_type(operand, "boolean"), f"({path(operand)} == {write_literal(is_true)})"]
    )


def about_name(condition: In | Like | IsNull, *, is_true: bool) -> str:
    there = present(condition.name)
    if isinstance(condition, IsNull):
        return opposite(there) if is_true else there
    wanted = among(condition) if isinstance(condition, In) else like(condition)
    found = both([has_type(condition.name, "string"), wanted])
    return found if is_true else both([there, opposite(found)])


def both(paths: list[str]) -> str:
    return joined(" && ", paths)


def either(paths: list[str]) -> str:
    return joined(" || ", paths)


def opposite(path: str) -> str:
    return f"(!{path})"


def joined(sign: str, paths: list[str]) -> str:
    """Paths joined as a balanced tree, because PostgreSQL recurses to its depth."""
    if len(paths) == 1:
        return paths[0]
    half = len(paths) // 2
    return f"({joined(sign, paths[:half])}{sign}{joined(sign, paths[half:])})"


def compared(comparison: Comparison, *, is_true: bool) -> str:
    left, right = comparison.left, comparison.right
    sign = SIGNS.get(comparison.operator, comparison.operator)
    alike = same_type(left, right, equal=comparison.operator in SIGNS)
    found = both([*alike, f"({path(left)} {sign} {path(right)})"])
    there = [present(name) for side in (left, right) for name in plain(side)]
    numbers = [
        has_type(name, "number") for side in (left, right) for name in summed(side)
    ]
    if is_true:
        return both([*numbers, found])
    return both([*numbers, *there, opposite(found)])


def same_type(left: Value, right: Value, *, equal: bool) -> list[str]:
    """The conditions under which two values are comparable."""
    types = {kind for side in (left, right) if (kind := type_of(side))}
    if len(types) > 1:
        return [NEVER]
    names = [name for side in (left, right) for name in plain(side)]
    if not types and equal:
        first, second = names
        return [present(first), f"({path(first)}.type() == {path(second)}.type())"]
    kind = next(iter(types), "number")
    return [has_type(name, kind) for name in names]


def type_of(value: Value) -> str | None:
    """The type of a value if the type is the same for all messages, else None."""
    match value:
        case Name():
            return None
        case Constant(str()):
            return "string"
        case Constant(bool()):
            return "boolean"
    return "number"


def plain(value: Value) -> list[Name]:
    return [value] if isinstance(value, Name) else []


def summed(value: Value) -> Iterator[Name]:
    """The names in a calculation; their values must be numbers."""
    match value:
        case Negative(operand):
            sides = [operand]
        case Arithmetic(_, left, right):
            sides = [left, right]
        case _:
            return
    for side in sides:
        yield from plain(side)
        yield from summed(side)


def has_type(name: Name, kind: str) -> str:
    return f'({path(name)}.type() == "{kind}")'


def present(name: Name) -> str:
    return either([has_type(name, kind) for kind in ("string", "number", "boolean")])


def path(value: Value) -> str:
    match value:
        case Name(name):
            if name in ONLY_IN_PYTHON:
                raise OnlyInPythonError
            return f"$.{json.dumps(name)}"
        case Constant(constant):
            return write_literal(constant)
        case Negative(operand):
            return f"(-{path(operand)})"
        case Arithmetic("/", _, _):
            raise OnlyInPythonError
    return f"({path(value.left)} {value.operator} {path(value.right)})"


def write_literal(constant: Scalar) -> str:
    """A literal in a path. Strings are written as in JSON."""
    if isinstance(constant, Fraction):
        return f"({exact(constant)})"
    if isinstance(constant, bool | str):
        return json.dumps(constant)
    return f"({constant})"


def exact(number: Fraction) -> str:
    """A decimal number with all its digits, for a fraction of a selector: the
    denominator has no prime factors but 2 and 5."""
    places = max(valuation(number.denominator, 2), valuation(number.denominator, 5))
    return f"{number.numerator * 10**places // number.denominator}e-{places}"


def valuation(number: int, prime: int) -> int:
    """How often a prime divides a number."""
    times = 0
    while number % prime == 0:
        number, times = number // prime, times + 1
    return times


def among(condition: In) -> str:
    at = path(condition.name)
    return either(
        [f"({at} == {write_literal(value)})" for value in sorted(condition.values)]
    )


def like(condition: Like) -> str:
    pattern, at = condition.pattern, path(condition.name)
    characters = pattern.characters
    if None not in characters:
        fixed = write_literal("".join(one for one in characters if one is not None))
        if not pattern.gaps:
            return f"({at} == {fixed})"
        if pattern.gaps == {len(characters)}:
            return f"({at} starts with {fixed})"
    return f'({at} like_regex {write_literal(regex(pattern))} flag "s")'


def regex(pattern: Pattern) -> str:
    """The pattern as a regular expression; with flag s, "." matches any character."""
    characters, gaps = pattern.characters, pattern.gaps
    too_many = len(gaps) > GAPS or characters.count(None) > ANY_ONES
    if too_many or len(characters) > CHARACTERS:
        raise OnlyInPythonError
    parts = ["^"]
    for n, character in enumerate((*characters, "$")):
        parts.append(".*" if n in gaps else "")
        if n == len(characters):
            parts.append("$")
        elif character is None:
            parts.append(".")
        else:
            parts.append(f"\\{character}" if character in IN_REGEXES else character)
    return "".join(parts)
