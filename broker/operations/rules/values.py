"""Parse the value of a keyword, the text in its parentheses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TypeAlias

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.operations.rules.keywords import (
    FROM_LETTER,
    KEYWORDS,
    LARGEST,
    NUMBERS,
    Keyword,
)
from broker.operations.rules.matching import ANY_RUN, WILD

Value: TypeAlias = str | int | None  # None: the value matches everything

# Characters for which a value needs quotes.
SPECIAL = re.compile(r"[^A-Za-z0-9./_%*?&]")
HEX = re.compile(r"[0-9a-f*?]+")
AT_LEAST_ONE = ("RETRY",)


class WrongValueError(Exception):
    """A value is not allowed: the reason, and the position of the character, counted
    from 0."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why, at)
        self.why = why
        self.at = at


def value_of(keyword: Keyword, raw: str) -> Value:
    """The value of a keyword, from the text in its parentheses.

    Raises:
        WrongValueError: the keyword does not allow this value.
    """
    text = unquoted(keyword, raw)
    if keyword.choices and text.upper() in keyword.choices:
        return text.upper()
    if keyword.is_number:
        return number_of(keyword, text)
    if keyword.choices:
        *most, last = keyword.choices
        why = f"{keyword.name} is {', '.join(most)} or {last}{near(text, ())}"
        raise WrongValueError(why)
    if keyword.name == "FILTER":
        return filter_of(raw, text)
    return pattern_of(keyword, text) if keyword.is_pattern else name_of(keyword, text)


def unquoted(keyword: Keyword, raw: str) -> str:
    """The text without quotes and trailing blanks; a text without quotes in upper
    case."""
    if raw.startswith("'"):
        text = raw[1:-1].replace("''", "'")
    else:
        if special := SPECIAL.search(raw):
            why = f"{special[0]} has to stand in single quotes, as {keyword.name}('…')"
            raise WrongValueError(why, special.start())
        text = raw.upper()
    if not text:
        raise WrongValueError(f"{keyword.name} needs at least one character")
    return text.rstrip(" ")


def number_of(keyword: Keyword, text: str) -> int | str | None:
    if keyword.is_pattern and set(text) == {ANY_RUN}:
        return None
    upper = text.upper()
    if upper in NUMBERS and upper.startswith(keyword.numbers or ("-",)):
        return NUMBERS[upper]
    if not re.fullmatch("[0-9]{1,9}", text):
        known = [name for name in NUMBERS if name.startswith(keyword.numbers or "-")]
        what = f"a number up to {LARGEST:,}" + (", a name" if known else "")
        what += " or *" if keyword.is_pattern else ""
        raise WrongValueError(f"{keyword.name} is {what}{near(upper, known)}")
    if keyword.name in AT_LEAST_ONE and not int(text):
        raise WrongValueError(f"{keyword.name} is 1 at least")
    return text.lstrip("0") or "0" if keyword.name == "WAIT" else int(text)


def pattern_of(keyword: Keyword, text: str) -> str | None:
    """The pattern that a text stands for; None if the pattern matches everything."""
    if text and set(text) == {ANY_RUN}:
        return None
    if len(text.replace(ANY_RUN, "")) > keyword.width:
        why = f"{keyword.name} has at most {keyword.width} characters"
        raise WrongValueError(why, keyword.width)
    if keyword.name == "FINGERPRINT":
        text = text.lower()
        if not HEX.fullmatch(text):
            raise WrongValueError("a fingerprint is 12 hexadecimal digits")
    if keyword.name == "PROPERTY" and not re.match("[^=]+=", text):
        why = "write the property and its value as 'name=value'"
        raise WrongValueError(why)
    return re.sub(r"\*+", ANY_RUN, text)


def name_of(keyword: Keyword, text: str) -> str:
    """The name of a queue or a queue manager; it may be blank if the keyword allows
    it."""
    if text.upper() in FROM_LETTER.get(keyword.name, ()):
        return text.upper()
    if text.startswith("&"):
        *most, last = FROM_LETTER.get(keyword.name, ("a name",))
        raise WrongValueError(f"what is not a name is {', '.join(most)} or {last}")
    if wild := WILD.search(text):
        why = f"{keyword.name} is one name; {wild[0]} stands for no others in it"
        raise WrongValueError(why, wild.start())
    if len(text) > keyword.width:
        why = f"{keyword.name} has at most {keyword.width} characters"
        raise WrongValueError(why, keyword.width)
    if keyword.name == "FWDQ" and not text:
        raise WrongValueError("FWDQ cannot be blank")
    return text


def filter_of(raw: str, text: str) -> str:
    """A filter in its normal form."""
    try:
        found = filters.parse(text)
    except InvalidFilter as error:
        before = text[: error.position - 1]
        opened = raw.startswith("'")
        at = len(before) + opened + before.count("'") * opened
        raise WrongValueError(error.why, at) from None
    if not found:
        raise WrongValueError("FILTER needs something to ask for")
    if len(str(found)) > KEYWORDS["FILTER"].width:
        raise WrongValueError("this filter is too long")
    return str(found)


def near(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that suggests the nearest known word, if there is one."""
    close = difflib.get_close_matches(word[:64], list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
