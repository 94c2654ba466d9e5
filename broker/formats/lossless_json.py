"""Lossless JSON: numbers, order and formatting survive reading and writing.

Numbers keep their digits, and objects keep the order of their keys. An object with two
equal keys is refused, because parsers disagree on which of them applies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NoReturn

DEEPEST = 200  # most levels of nested arrays and objects
PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,18}))?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
FIRST = re.compile(r"\s*[\[{]((?:\r\n|\n|\r)[ \t]*)")
AFTER_COLON, AFTER_COMMA = re.compile(r":( *)"), re.compile(r",( *)(?=[^\s])")
LOOKED_AT = 4096  # number of characters from which the formatting is detected


class Number:
    """A number as it was written; equal to any number of the same value."""

    __slots__ = ("text",)
    __hash__ = None  # type: ignore[assignment]  # not for sets

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number):
            return NotImplemented
        return self.text == other.text or reduced(self.text) == reduced(other.text)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Number:
        return self  # immutable

    def __repr__(self) -> str:
        return self.text


def reduced(text: str) -> tuple[str, str, int] | str:
    """The normal form of a number: sign, digits and exponent.

    A number whose exponent has more than 18 digits is only equal to itself.
    """
    found = PARTS.fullmatch(text)
    if found is None:
        return text
    sign, whole, part, exponent = found.groups(default="")
    digits = (whole + part).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return "", "0", 0
    return sign, short, int(exponent or 0) - len(part) + len(digits) - len(short)


def loads(text: str) -> Any:
    """Read JSON; numbers are ``Number``.

    Raises:
        ValueError: it is not JSON, has two equal keys in an object, or is nested too
            deep; a ``json.JSONDecodeError`` has the position.
    """
    try:
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=refuse_constant,
            object_pairs_hook=unambiguous,
        )
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if depth_of(value) > DEEPEST:
        raise ValueError(TOO_DEEP)
    return value


TOO_DEEP = f"it is nested more than {DEEPEST} deep"


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {json.dumps(twice[:50])} twice")
    return found


def depth_of(value: Any) -> int:
    """The number of nested levels, counted to one more than ``DEEPEST``."""
    depth, level = 0, containers([value])
    while level and depth <= DEEPEST:
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        depth, level = depth + 1, containers(chain.from_iterable(inner))
    return depth


def containers(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if isinstance(one, list | dict)]


@dataclass(frozen=True, slots=True)
class Manner:
    """The formatting of a JSON text."""

    # Line end and indentation before each member; empty: all on one line.
    line: str = ""
    comma: str = ","
    colon: str = ":"
    is_ascii: bool = False
    before: str = ""  # blanks before and after the value
    after: str = ""


COMPACT = Manner()
INDENTED = Manner(line="\n  ", colon=": ")


def manner_of(text: str) -> Manner:
    """The formatting of a text, detected from its beginning."""
    bare = STRING.sub('""', text[:LOOKED_AT])
    first = FIRST.match(bare)
    colon, comma = AFTER_COLON.search(bare), AFTER_COMMA.search(bare)
    stripped = text.strip(" \t\r\n")
    start = text.find(stripped)
    return Manner(
        first[1] if first else "",
        f",{comma[1]}" if comma and not first else ",",
        f":{colon[1]}" if colon else ":",
        text.isascii(),
        text[:start],
        text[start + len(stripped) :],
    )


def dumps(value: Any, manner: Manner = COMPACT) -> str:
    """Write JSON with a formatting.

    Raises:
        RecursionError: the value is nested too deep.
    """
    pieces = [manner.before]
    write(value, manner, pieces, 1)
    pieces.append(manner.after)
    return "".join(pieces)


def write(value: Any, manner: Manner, pieces: list[str], depth: int) -> None:
    """Append the text of a value to ``pieces``. This is not a generator, because each
    value would pass through all levels of nested generators."""
    if isinstance(value, Number):
        pieces.append(value.text)
    elif isinstance(value, str):
        pieces.append(quoted(value, manner))
    elif isinstance(value, dict | list):
        is_object = isinstance(value, dict)
        first, between = margins(manner, depth)
        pieces.append("{" if is_object else "[")
        margin = first
        for one in value:
            pieces.append(margin)
            margin = between
            if is_object:
                pieces.append(quoted(one, manner) + manner.colon)
            write(value[one] if is_object else one, manner, pieces, depth + 1)
        if value:
            pieces.append(margins(manner, depth - 1)[0])
        pieces.append("}" if is_object else "]")
    else:
        pieces.append({None: "null", True: "true", False: "false"}[value])


def margins(manner: Manner, depth: int) -> tuple[str, str]:
    """The text before the first member, and between two members."""
    if not manner.line:
        return "", manner.comma
    end = manner.line.rstrip(" \t")
    margin = end + manner.line[len(end) :] * depth
    return margin, manner.comma + margin


def quoted(text: str, manner: Manner) -> str:
    """A JSON string; lone surrogates are always escaped."""
    plain = encode_basestring_ascii if manner.is_ascii else encode_basestring
    written: str = plain(text)
    try:
        written.encode()
    except UnicodeEncodeError:
        written = encode_basestring_ascii(text)
    return written
