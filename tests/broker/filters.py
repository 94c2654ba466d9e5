"""Filters, drawn: everything that the language can say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from broker.formats.filters import (
    KEYS,
    PATH,
    PROPERTY,
    WORD,
    Filter,
    Key,
    KeyKind,
    Term,
    paths,
)
from broker.formats.filters.building import place
from broker.formats.filters.values import (
    Alternative,
    Between,
    Compared,
    Is,
    Moment,
    Text,
)

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
PARTS = st.text(CHARACTERS, max_size=5) | st.sampled_from(
    ["17", "queue:x", "a..b", "-x", '"', "\\", "a b", "*", "ID:7", ">5", "h.x:y", ","]
)
SOME = PARTS.filter(bool)
TEXTS = st.builds(lambda one: Text((one,)), PARTS) | st.builds(
    lambda first, inner, last: Text((first, *inner, last)),
    PARTS,
    st.lists(SOME, max_size=2),
    PARTS,
)
WORDS = st.builds(Text, st.lists(SOME, min_size=1, max_size=3).map(tuple))
NUMBERS = st.integers(0, 2**63 - 1)
EXACT = st.decimals(-(10**15) + 1, 10**15 - 1, allow_nan=False, places=6).map(
    lambda drawn: Decimal(drawn).normalize() + 0
)
STEPS = st.lists(
    PARTS | st.none() | st.sampled_from(["items", "0", "[]", "a.b"]),
    min_size=1,
    max_size=4,
).map(tuple)
SPANS = st.integers(0, 36_525 * 86_400).map(lambda count: timedelta(seconds=count))


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    earliest = datetime(1970, 1, 1, tzinfo=UTC)
    latest = datetime(9998, 12, 30, tzinfo=UTC)
    start = earliest + draw(st.timedeltas(timedelta(0), latest - earliest))
    if draw(st.booleans()):
        return Moment(start, timedelta(microseconds=1))
    if draw(st.booleans()):
        return Moment(start.replace(microsecond=0), timedelta(seconds=1))
    minute = start.replace(second=0, microsecond=0)
    if draw(st.booleans()):
        return Moment(minute, timedelta(minutes=1))
    return Moment(minute.replace(hour=0, minute=0), timedelta(days=1))


MEASURES: dict[KeyKind, st.SearchStrategy[Any]] = {
    KeyKind.NUMBER: NUMBERS,
    KeyKind.SIZE: NUMBERS,
    KeyKind.MOMENT: moments(),
    KeyKind.SPAN: SPANS,
    KeyKind.PROPERTY: EXACT,
}


def alternatives(key: Key) -> st.SearchStrategy[Alternative]:
    found: list[st.SearchStrategy[Alternative]] = []
    if key.kind == KeyKind.CHOICE:
        found.append(st.sampled_from(key.choices).map(lambda one: Is(Text((one,)))))
    elif key.kind in (KeyKind.TEXT, KeyKind.PROPERTY):
        found.append(st.builds(Is, TEXTS))
    elif key.kind == KeyKind.WORDS:
        found.append(st.builds(Is, WORDS))
    elif key.kind != KeyKind.SPAN:
        found.append(st.builds(Is, MEASURES[key.kind]))
    values = MEASURES.get(key.kind)
    if values is not None:
        found.append(
            st.builds(Compared, st.sampled_from(["<", "<=", ">", ">="]), values)
        )
        found.append(
            st.lists(values, min_size=2, max_size=2)
            .map(lambda two: sorted(two, key=place))
            .map(lambda two: Between(*two))
        )
    return st.one_of(found)


@st.composite
def terms(draw: st.DrawFn) -> Term:
    key = draw(st.sampled_from([*KEYS.values(), PROPERTY, PATH, WORD]))
    values = draw(st.lists(alternatives(key), min_size=1, max_size=3, unique=True))
    names = {PROPERTY: SOME, PATH: STEPS.map(paths.write)}
    name = draw(names.get(key, st.just("")))
    return Term(key, tuple(values), name, draw(st.booleans()))


def filters() -> st.SearchStrategy[Filter]:
    drawn = st.lists(terms(), max_size=5, unique=True)
    return drawn.map(lambda some: Filter(tuple(some)))
