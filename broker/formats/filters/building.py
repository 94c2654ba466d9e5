"""Builds terms from the parse tree of a filter, and checks each value against its
key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

from lark import Token, Transformer, v_args

from broker.formats.filters import paths
from broker.formats.filters.keys import (
    ALIASES,
    KEYS,
    PATH,
    PROPERTY,
    WITH_NAMES,
    WORD,
    Key,
    KeyKind,
    nearest,
)
from broker.formats.filters.terms import Filter, Term
from broker.formats.filters.value_parsing import (
    LARGEST,
    FaultError,
    Piece,
    Written,
    measure,
    same_day,
    value_of,
)
from broker.formats.filters.values import (
    Alternative,
    Between,
    Compared,
    Is,
    Moment,
    Operator,
    Value,
)

TERMS = 32
ALTERNATIVES = 100  # most alternatives in all terms together

Read: TypeAlias = Callable[[Key], Alternative]  # reads a value, once its key is known


class Built(NamedTuple):
    """A term, and its position in the text."""

    term: Term
    at: int


@v_args(inline=True)
class FilterBuilder(Transformer[Token, Filter]):
    """One method for each rule of the grammar."""

    def start(self, *found: Built | None) -> Filter:
        built = [one for one in found if one]
        if len(built) > TERMS:
            raise FaultError(built[TERMS].at, f"a filter has at most {TERMS} terms")
        values = 0
        for one in built:
            values += len(one.term.alternatives)
            if values > ALTERNATIVES:
                why = f"a filter has at most {ALTERNATIVES} values in all"
                raise FaultError(one.at, why)
        return Filter(tuple(dict.fromkeys(one.term for one in built)))

    def keyed(self, sign: Token | None, name: Token, *reads: Read) -> Built:
        key, its_name = named(name)
        alternatives = tuple(dict.fromkeys(read(key) for read in reads))
        term = Term(key, alternatives, its_name, sign is not None)
        return Built(term, at(sign or name))

    def plain(self, sign: Token | None, *words: Written) -> Built:
        key = KEYS["id"] if all(map(is_id, words)) else WORD
        found = tuple(dict.fromkeys(Is(value_of(key, one)) for one in words))
        begins = words[0].at if sign is None else at(sign)
        return Built(Term(key, found, is_negated=sign is not None), begins)

    def exactly(self, said: Written) -> Read:
        def read(key: Key) -> Alternative:
            if key.kind == KeyKind.SPAN:
                why = f"no {key.name} is exact; write >{said.plainly[:64]} or <"
                raise FaultError(said.at, why)
            return Is(value_of(key, said))

        return read

    def compared(self, sign: Token, said: Written) -> Read:
        operator = cast("Operator", str(sign))
        return lambda key: Compared(operator, measure(key, said))

    def between(self, first: Written, last: Written) -> Read:
        def read(key: Key) -> Alternative:
            end = same_day(last, first) if key.kind == KeyKind.MOMENT else last
            low, high = measure(key, first), measure(key, end)
            if place(low) > place(high):
                why = "this range ends before it begins"
                raise FaultError(first.at, why)
            return Between(low, high)

        return read

    def at_least(self, said: Written) -> Read:
        return lambda key: Compared(">=", measure(key, said))

    def at_most(self, said: Written) -> Read:
        return lambda key: Compared("<=", measure(key, said))

    def text(self, *tokens: Token) -> Written:
        return Written(tuple(map(piece, tokens)), at(tokens[0]))

    word = text


def named(token: Token) -> tuple[Key, str]:
    """The key that a token names, and the name of the property or the path if the key
    has one."""
    name = token[:-1]
    if name[:5].lower() == "body.":
        try:
            return PATH, paths.write(paths.read(name[5:]))
        except ValueError as error:
            raise FaultError(at(token), str(error)) from None
    if name[:2].lower() == "h.":
        parts = re.split(r'("(?:[^"\\]|\\.)*+")', name[2:], flags=re.S)
        of_whom = "".join(
            unquoted(part) if part.startswith('"') else part for part in parts
        )
        if not of_whom:
            raise FaultError(at(token), "name the property, as in h.tenant:t7")
        return PROPERTY, of_whom
    lower = name.lower()
    key = KEYS.get(ALIASES.get(lower, lower))
    if key is None:
        why = f"there is no key {name[:64]}; {nearest(lower, (*KEYS, *WITH_NAMES))}"
        raise FaultError(at(token), f"{why} (in quotes, it is looked for as words)")
    return key, ""


def piece(token: Token) -> Piece:
    if token.type == "QUOTED":
        return Piece(unquoted(token), is_quoted=True)
    return Piece(str(token), is_quoted=False)


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.S)


def is_id(word: Written) -> bool:
    """Whether a word without a key is a number that could be a message number."""
    ((text, is_quoted), *more) = word.pieces
    if more or is_quoted or not re.fullmatch("[0-9]{1,19}", text):
        return False
    return int(text) <= LARGEST


def place(value: Value) -> Any:
    """A value to sort by, for values of one kind."""
    return value.start if isinstance(value, Moment) else value


def at(token: Token) -> int:
    return cast("int", token.start_pos)
