"""Build conditions and values from the parse tree of a selector, and check their types.

An LALR(1) grammar cannot distinguish conditions from numbers, because both may be in
parentheses. So this module distinguishes them, and a fault has its position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, cast

from lark import Token, Transformer, v_args

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
from broker.formats.selectors.patterns import Pattern

DEPTH = 32  # most levels of nested conditions
# Most operations in one number: exact numbers become longer with each operation.
OPERATIONS = 20
DIGITS = 100  # most digits of a number

HEADERS = frozenset(
    [
        *("JMSPriority", "JMSDeliveryMode", "JMSTimestamp", "JMSMessageID"),
        *("JMSCorrelationID", "JMSType", "JMSRedelivered", "JMSExpiration"),
    ]
)


# Names of headers in filters. Source: Artemis, "Filter Expressions".
OF_ARTEMIS: Mapping[str, str] = {
    "AMQPriority": "JMSPriority",
    "AMQTimestamp": "JMSTimestamp",
    "AMQExpiration": "JMSExpiration",
    "AMQUserID": "JMSMessageID",
    "AMQGroupID": "JMSXGroupID",
}


class FaultError(Exception):
    """A selector is invalid: the reason, and the position of the character, counted
    from 0."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(at, why)
        self.at = at
        self.why = why


class BuiltNode(NamedTuple):
    """A node built from a part of the text."""

    node: Condition | Value
    at: int  # position of that part in the text
    depth: int = 1
    operations: int = 0


@v_args(inline=True)
class SelectorBuilder(Transformer[Token, BuiltNode]):
    """One method for each rule of the grammar."""

    def disjunction(self, *parts: BuiltNode) -> BuiltNode:
        return around(Any(tuple(condition(part) for part in parts)), *parts)

    def conjunction(self, *parts: BuiltNode) -> BuiltNode:
        return around(All(tuple(condition(part) for part in parts)), *parts)

    def negation(self, sign: Token, part: BuiltNode) -> BuiltNode:
        return around(Not(condition(part)), BuiltNode(part.node, at(sign), part.depth))

    def comparison(self, left: BuiltNode, sign: Token, right: BuiltNode) -> BuiltNode:
        return around(compare(cast("Operator", str(sign)), left, right), left, right)

    def between(
        self, one: BuiltNode, sign: Token | None, low: BuiltNode, high: BuiltNode
    ) -> BuiltNode:
        made: Condition
        if sign is None:
            made = All((compare(">=", one, low), compare("<=", one, high)))
        else:
            made = Any((compare("<", one, low), compare(">", one, high)))
        return around(made, one, low, high)

    def one_of(self, one: BuiltNode, sign: Token | None, *strings: Token) -> BuiltNode:
        found = In(name(one, "IN"), frozenset(unquoted(each) for each in strings))
        return around(found if sign is None else Not(found), one)

    def like(
        self, one: BuiltNode, sign: Token | None, text: Token, escape: Token | None
    ) -> BuiltNode:
        if escape is not None and len(unquoted(escape)) != 1:
            raise FaultError(at(escape), "ESCAPE takes one character")
        try:
            pattern = Pattern.of(unquoted(text), escape and unquoted(escape))
        except ValueError as error:
            raise FaultError(at(text), str(error)) from None
        found = Like(name(one, "LIKE"), pattern)
        return around(found if sign is None else Not(found), one)

    def is_null(self, one: BuiltNode, sign: Token | None) -> BuiltNode:
        found = IsNull(name(one, "IS NULL"))
        return around(found if sign is None else Not(found), one)

    def arithmetic(self, left: BuiltNode, sign: Token, right: BuiltNode) -> BuiltNode:
        sides = number(left), number(right)
        made = Arithmetic(sign.value, *sides)
        operations = left.operations + right.operations + 1
        if operations > OPERATIONS:
            raise FaultError(
                at(sign), f"a number is made by at most {OPERATIONS} operations"
            )
        return around(made, left, right)._replace(operations=operations)

    def signed(self, sign: Token, part: BuiltNode) -> BuiltNode:
        value = number(part)
        made = Negative(value) if sign == "-" else value
        whole = around(made, BuiltNode(made, at(sign), part.depth))
        return whole._replace(operations=part.operations)

    def name(self, token: Token) -> BuiltNode:
        return BuiltNode(Name(named(str(token), at(token))), at(token))

    def quoted(self, token: Token) -> BuiltNode:
        if not (text := token[1:-1].replace('""', '"')):
            raise FaultError(at(token), "a name has at least one character")
        return BuiltNode(Name(named(text, at(token))), at(token))

    def string(self, token: Token) -> BuiltNode:
        return BuiltNode(Constant(unquoted(token)), at(token))

    def number(self, token: Token) -> BuiltNode:
        return BuiltNode(Constant(numeral(token)), at(token))

    def boolean(self, token: Token) -> BuiltNode:
        return BuiltNode(Constant(token.upper() == "TRUE"), at(token))


def named(text: str, position: int) -> str:
    """The name to look up; the filters of Artemis have other names for headers.

    Raises:
        FaultError: selectors do not know this header.
    """
    if text not in HEADERS and re.match("JMS(?![X_])|AMQSize$", text):
        offered = ", ".join(sorted(HEADERS))
        why = f"{text[:64]} cannot be selected on; of the headers, {offered} can"
        raise FaultError(position, why)
    return OF_ARTEMIS.get(text, text)


def at(token: Token) -> int:
    return cast("int", token.start_pos)


def around(node: Condition | Value, *parts: BuiltNode) -> BuiltNode:
    depth = 1 + max(part.depth for part in parts)
    if depth > DEPTH:
        raise FaultError(
            parts[0].at, f"conditions are nested more than {DEPTH} levels deep here"
        )
    return BuiltNode(node, parts[0].at, depth)


def condition(part: BuiltNode) -> Condition:
    match part.node:
        case Name() | Constant(bool()):
            return Is(part.node)
        case Constant(str()):
            raise FaultError(
                part.at, "a string is no condition; compare it with a name"
            )
        case Constant() | Negative() | Arithmetic():
            raise FaultError(
                part.at, "a number is no condition; compare it with a name"
            )
    return part.node


def value(part: BuiltNode) -> Value:
    match part.node:
        case Name() | Constant() | Negative() | Arithmetic():
            return part.node
    raise FaultError(part.at, "a condition is no value; join conditions by AND and OR")


def number(part: BuiltNode) -> Value:
    operand = value(part)
    if not may_be_number(operand):
        raise FaultError(part.at, "only numbers can be calculated with")
    return operand


def name(part: BuiltNode, sign: str) -> Name:
    if not isinstance(part.node, Name):
        raise FaultError(part.at, f"a name should stand before {sign}")
    return part.node


def compare(sign: Operator, left: BuiltNode, right: BuiltNode) -> Comparison:
    for part in (left, right):
        if sign not in ("=", "<>") and not may_be_number(value(part)):
            raise FaultError(
                part.at, "strings, TRUE and FALSE compare by = and <> only"
            )
    return Comparison(sign, value(left), value(right))


def may_be_number(operand: Value) -> bool:
    return not (isinstance(operand, Constant) and isinstance(operand.value, str | bool))


def unquoted(token: Token) -> str:
    return token[1:-1].replace("''", "'")


def numeral(token: Token) -> Scalar:
    """A number in the syntax of Java, exact: ``0x1F``, ``017``, ``6L``, ``7e3``.

    Unlike in Java, a whole number may be larger than a long, since values are.

    Raises:
        FaultError: the number has too many digits, is not in the range of a double, or
            is invalid.
    """
    text = token.lower()
    whole = text.removesuffix("l").lstrip("0") or "0"
    if whole.startswith("x") or whole.isdecimal():
        base = 16 if whole[0] == "x" else 8 if text[0] == "0" else 10
        return integer(token, whole.removeprefix("x"), base)
    if text.endswith("l"):
        raise FaultError(at(token), "only a whole number can end in L")
    return fraction(token, text.rstrip("df"))


def integer(token: Token, digits: str, base: int) -> int:
    if base == 8 and digits.strip("01234567"):
        raise FaultError(at(token), "a number that begins with 0 is octal")
    return int(few(token, digits), base)


def fraction(token: Token, digits: str) -> Fraction:
    approximate = float(digits)
    mantissa = digits.partition("e")[0]
    if math.isinf(approximate) or (not approximate and mantissa.strip("0.")):
        raise FaultError(at(token), "this number is not in the range of a double")
    few(token, mantissa)
    return Fraction(digits) if approximate else Fraction(0)


def few(token: Token, digits: str) -> str:
    if len(digits) > DIGITS:
        raise FaultError(at(token), f"a number has at most {DIGITS} digits")
    return digits
