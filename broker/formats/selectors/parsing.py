"""Parse selectors: from text to a condition, or to an error with position and reason.

The parser reads the text once and has its own stack, so that no input can exhaust
Python's stack. Length and depth are limited, as later functions recurse through the
tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from lark import Lark, UnexpectedCharacters, UnexpectedToken

from broker.errors.messages import InvalidSelector
from broker.formats.selectors import jsonpath, matching
from broker.formats.selectors.building import (
    BuiltNode,
    FaultError,
    SelectorBuilder,
    condition,
)
from broker.formats.selectors.conditions import Condition, names

GRAMMAR = Path(__file__).with_name("selector.lark")
LENGTH = 8192  # most characters of a selector
KEPT = 1024  # most parsed selectors in the cache
# Prefixes of Artemis: whether "-" is part of names without quotes.
HYPHENATED = {"hyphenated_props:": True, "no_hyphenated_props:": False}
CONVERTING = ("convert_string_expressions:", "no_convert_string_expressions:")
NOWHERE = re.compile(r"[\x00\ud800-\udfff]")  # characters that no message can hold


@dataclass(frozen=True)
class Selector:
    """A parsed selector."""

    text: str
    condition: Condition = field(compare=False, repr=False)
    path: str | None = field(compare=False, repr=False)
    """For PostgreSQL: an SQL/JSON path that is true for a document (see ``documents``)
    if ``matches`` is true, and false if that is false or None. None if only Python can
    evaluate the condition."""

    @property
    def names(self) -> frozenset[str]:
        """The headers and properties that it reads."""
        return frozenset(names(self.condition))

    def matches(self, document: Mapping[str, object]) -> bool | None:
        """Whether a message matches; the result unknown (None) counts as no."""
        return matching.decide(self.condition, document)


@lru_cache(KEPT)
def parse(text: str) -> Selector:
    """Parse a selector.

    Raises:
        InvalidSelector: it is invalid, or too long or deep. An empty text is invalid,
            too: no selector matches all messages.

    Source: JMS 2.0, section 3.8.
    """
    try:
        check(text)
        bare, is_hyphenated = without_prefix(text)
        read = condition(cast("BuiltNode", parser(is_hyphenated).parse(bare)))
    except FaultError as fault:
        raise InvalidSelector(text, fault.at + 1, fault.why) from None
    except UnexpectedCharacters as error:
        place = cast("int", error.pos_in_stream)
        raise InvalidSelector(text, place + 1, stray(error.char)) from None
    except UnexpectedToken as error:
        ended = error.token.type == "$END"
        place = len(text.rstrip()) if ended else cast("int", error.token.start_pos)
        found = "the selector ends" if ended else f"{error.token[:64]!s} stands"
        why = f"{found} where {expected(error.expected)} should"
        raise InvalidSelector(text, place + 1, why) from None
    return Selector(text, read, jsonpath.compiled(read))


def without_prefix(text: str) -> tuple[str, bool]:
    """The selector with blanks for its prefix, so that positions stay right; and
    whether names have hyphens.

    Raises:
        FaultError: the prefix asks for what is not done here.

    Source: Artemis, "Filter Expressions".
    """
    prefix = next(filter(text.startswith, (*HYPHENATED, *CONVERTING)), "")
    if prefix == CONVERTING[0]:
        raise FaultError(0, "strings are not converted to numbers here")
    bare = " " * len(prefix) + text[len(prefix) :]
    return bare, HYPHENATED.get(prefix, False)


@cache
def parser(is_hyphenated: bool) -> Lark:  # noqa: FBT001  # the key of the cache
    grammar = GRAMMAR.read_text("utf-8")
    return Lark(
        grammar.replace(r"[\w$]", r"[\w$-]") if is_hyphenated else grammar,
        parser="lalr",
        lexer="basic",
        transformer=SelectorBuilder(),
    )


def check(text: str) -> None:
    if len(text) > LENGTH:
        raise FaultError(LENGTH, f"it has more than {LENGTH:,} characters")
    if nowhere := NOWHERE.search(text):
        raise FaultError(nowhere.start(), "no message can hold this character")


STRAY = {
    "'": "this string has no closing quote",
    '"': "this name has no closing quote",
    "!": "unequal is written <>",
    "%": "there is no remainder; patterns stand in single quotes after LIKE",
}


def stray(character: str) -> str:
    return STRAY.get(character, f"{character} means nothing here")


WORDS = {
    "COMPARISON": "a comparison such as = or LIKE",
    "NOT": "NOT",
    "_NULL": "NULL",
    "_BETWEEN": "BETWEEN",
    "_IN": "IN",
    "_LIKE": "LIKE",
    "_AND": "AND",
    "_OR": "OR",
    "_ESCAPE": "ESCAPE",
    "STRING": "a string in single quotes",
    "LPAR": "(",
    "COMMA": "a comma",
    "RPAR": ")",
    "$END": "the end",
}
WITH_COMPARISON = {"NOT", "_BETWEEN", "_IN", "_LIKE"}


def expected(terminals: set[str]) -> str:
    """The expected tokens, as text for an error."""
    if "NAME" in terminals:
        return "a name, a number, a string in single quotes, TRUE or FALSE"
    skipped = WITH_COMPARISON if "COMPARISON" in terminals else set()
    words = [
        word for key, word in WORDS.items() if key in terminals and key not in skipped
    ]
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
