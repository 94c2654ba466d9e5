"""Parse filters: from a text to terms, or to an error with the position and the reason.

The parser reads the text once, and the language has no nesting.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from lark import Lark, UnexpectedCharacters, UnexpectedToken
from lark.exceptions import VisitError

from broker.errors.messages import InvalidFilter
from broker.formats.filters.building import FilterBuilder
from broker.formats.filters.terms import Filter
from broker.formats.filters.value_parsing import FaultError

GRAMMAR = Path(__file__).with_name("filter.lark")
LENGTH = 2000  # most characters of a filter
KEPT = 256  # most parsed filters in the cache
NOWHERE = re.compile(r"[\x00\ud800-\udfff]")  # characters that no message can hold


@lru_cache(KEPT)
def parse(text: str) -> Filter:
    """Read a filter; an empty text selects every message.

    Raises:
        InvalidFilter: the text is not a valid filter, or is too long.
    """
    wanted = text.strip(" \t\f\r\n")
    before = text.index(wanted)
    try:
        check(text)
        return cast("Filter", parser().parse(wanted))
    except FaultError as fault:
        at, why = fault.at, fault.why
    except VisitError as error:  # an error that a method of the builder has raised
        if not isinstance(error.orig_exc, FaultError):
            raise
        at, why = error.orig_exc.at, error.orig_exc.why
    except UnexpectedCharacters as error:
        at = cast("int", error.pos_in_stream)
        why = expected(wanted, at, error.allowed or set())
    except UnexpectedToken as error:
        ended = error.token.type == "$END"
        at = len(wanted) if ended else cast("int", error.token.start_pos)
        why = expected(wanted, at, error.accepts or error.expected)
    raise InvalidFilter(text, before + at + 1, why) from None


@cache
def parser() -> Lark:
    return Lark(
        GRAMMAR.read_text("utf-8"),
        parser="lalr",
        lexer="contextual",
        transformer=FilterBuilder(),
        maybe_placeholders=True,
    )


def check(text: str) -> None:
    if len(text) > LENGTH:
        raise FaultError(LENGTH, f"it has more than {LENGTH:,} characters")
    if nowhere := NOWHERE.search(text):
        raise FaultError(nowhere.start(), "no message can hold this character")


def expected(text: str, at: int, terminals: set[str]) -> str:
    """The reason of a syntax error, for people: what the parser found, and what it
    expected."""
    found = text[at : at + 1]
    if found == '"':
        return "these quotes are not closed"
    what = (
        "it ends"
        if not found
        else f"{found} stands"
        if found.strip()
        else "a blank stands"
    )
    if "COMPARISON" in terminals:
        return f"{what} where the value should, right after the colon"
    if "BARE" in terminals:
        return f"{what} where a value should"
    if "WORD" in terminals:
        return f"{what} where a key with a colon should, or a word to look for"
    return f"{what} where a blank or a comma should; put such signs in quotes"
