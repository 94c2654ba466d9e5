"""Convert the text after a key to a value of the key's kind, or raise a fault."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, timedelta
from decimal import Decimal
from typing import NamedTuple

from broker.formats import moments
from broker.formats.filters.keys import PROPERTY, SYNONYMS, Key, KeyKind, nearest
from broker.formats.filters.values import Moment, Text, Value
from broker.formats.quantities import MS, read_duration, read_size

LARGEST = 2**63 - 1
STARS = 8  # most stars in one text: each star costs another search of the text
YEARS = range(1970, 9999)
LONGEST_MS = 36_525 * MS["d"]

NUMERAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,12})?")
TIME = r"(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(z|[+-]\d\d:\d\d)?"
MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:[t ]{TIME})?", re.I | re.A)
TIME_ONLY = re.compile(TIME, re.I | re.A)


class FaultError(Exception):
    """A filter is invalid: the reason, and the position of the character, counted from
    0."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(at, why)
        self.at = at
        self.why = why


class Piece(NamedTuple):
    """A part of a value, as it was written: quoted or not."""

    text: str
    is_quoted: bool


class Written(NamedTuple):
    """A value, as it was written, and its position."""

    pieces: tuple[Piece, ...]
    at: int

    @property
    def plainly(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def text(self) -> Text:
        """The value as a text; stars outside quotes are wildcards."""
        parts = [""]
        for piece in self.pieces:
            if piece.is_quoted:
                parts[-1] += piece.text
            else:
                first, *others = re.split(r"\*+", piece.text)
                parts[-1] += first
                parts += others
        inner = [part for part in parts[1:-1] if part]
        kept = [parts[0], *inner, parts[-1]] if len(parts) > 1 else parts
        if len(kept) - 1 > STARS:
            raise FaultError(self.at, f"a text has at most {STARS} stars")
        return Text(tuple(kept))


def value_of(key: Key, said: Written) -> Value:
    """The value that a key must be equal to."""
    match key.kind:
        case KeyKind.CHOICE:
            return Text((choice(key, said),))
        case KeyKind.TEXT | KeyKind.PROPERTY:
            return said.text
        case KeyKind.WORDS:
            return words(said)
    return measure(key, said)


def measure(key: Key, said: Written) -> Value:
    """A value on an ordered scale: it may be compared, and may be the begin of a
    range."""
    match key.kind:
        case KeyKind.NUMBER:
            return number(key, said)
        case KeyKind.SIZE:
            return size(said)
        case KeyKind.MOMENT:
            return moment(said)
        case KeyKind.SPAN:
            return span(said)
        case KeyKind.PROPERTY:
            what = "a property" if key == PROPERTY else "a value in a body"
            return numeral(what, said)
    why = f"{key.name} is no number and no time; put signs that it has in quotes"
    raise FaultError(said.at, why)


def choice(key: Key, said: Written) -> str:
    word = said.plainly.lower().replace("_", "-")
    word = SYNONYMS.get(word, word)
    if word not in key.choices:
        raise FaultError(
            said.at,
            f"there is no {key.name} {word[:64]}; {nearest(word, key.choices)}",
        )
    return word


def words(said: Written) -> Text:
    """A text to search for in a longer text; stars at its ends have no effect."""
    found = said.text
    inner = tuple(part for part in found.parts if part)
    if not inner:
        raise FaultError(said.at, "say at least one character to look for")
    return Text(inner)


def number(key: Key, said: Written) -> int:
    digits = said.plainly
    if not re.fullmatch("[0-9]{1,19}", digits) or int(digits) > LARGEST:
        raise wrong(key.kind, said)
    return int(digits)


def numeral(what: str, said: Written) -> Decimal:
    if not NUMERAL.fullmatch(said.plainly):
        raise FaultError(said.at, f"{what} is compared with a number here")
    return Decimal(said.plainly).normalize() + 0  # adding 0 turns -0 into 0


def size(said: Written) -> int:
    try:
        bytes_ = read_size(said.plainly)
    except ValueError:
        raise wrong(KeyKind.SIZE, said) from None
    if bytes_ > LARGEST:
        raise wrong(KeyKind.SIZE, said)
    return bytes_


def span(said: Written) -> timedelta:
    try:
        ms = read_duration(said.plainly, "ms")
    except ValueError:
        raise wrong(KeyKind.SPAN, said) from None
    if ms > LONGEST_MS:
        raise FaultError(said.at, "that is longer than a hundred years")
    return timedelta(milliseconds=ms)


def is_span(said: Written) -> bool:
    with suppress(ValueError):
        return read_duration(said.plainly, "ms") > 0
    return False


def moment(said: Written) -> Moment:
    found = MOMENT.fullmatch(said.plainly)
    if not found:
        if is_span(said):
            why = f"this is a time, not a span; how long ago is age:>{said.plainly}"
            raise FaultError(said.at, why)
        raise wrong(KeyKind.MOMENT, said)
    date, minutes, seconds, fraction, offset = found.groups()
    length = timedelta(days=1)
    if minutes:
        length = timedelta(minutes=1)
    if seconds:
        length = timedelta(microseconds=1) if fraction else timedelta(seconds=1)
    text = f"{date}T{minutes or '00:00'}:{seconds or '00'}.{(fraction or '0'):0<6}"
    try:
        start = moments.parse(text + (offset or "Z").upper()).astimezone(UTC)
        fits = start.year in YEARS
    except (ValueError, OverflowError):
        fits = False
    if not fits:
        raise FaultError(said.at, f"there is no such time as {said.plainly}")
    return Moment(start, length)


def same_day(said: Written, first: Written) -> Written:
    """The end of a range. An end without a date is on the date of the start, and has
    the offset of the start from UTC if it has none itself."""
    begins = MOMENT.fullmatch(first.plainly)
    if begins and begins[2] and (time := TIME_ONLY.fullmatch(said.plainly)):
        offset = "" if time[4] else begins[5] or ""
        whole = f"{begins[1]}T{said.plainly}{offset}"
        return Written((Piece(whole, is_quoted=False),), said.at)
    return said


def wrong(kind: KeyKind, said: Written) -> FaultError:
    return FaultError(said.at, f"{said.plainly[:64]} is not {kind.value}")
