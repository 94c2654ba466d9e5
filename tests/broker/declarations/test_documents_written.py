"""What a document can say can be written: read again, it is the same."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import console.accounts.declaring  # noqa: F401  # all kinds
from broker.declarations import Attribute, Declaration, ObjectKind, every_kind
from broker.declarations.documents import read, write
from broker.errors.settings import WrongSettings

KINDS = every_kind()
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
printable = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters=" \n")
)
stored = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | stored,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(stored, some, max_size=3),
    max_leaves=5,
)
ABSENT = (
    "[queues.old]\nabsent = true\n\n"
    '[queues."o\\u007Fl\\nd"]\nabsent = true\npurge = true\n'
)


def values_of(one: Attribute) -> st.SearchStrategy[Any]:
    """Values that a document may give to an attribute."""
    if one.is_content:
        is_table = one.type is dict
        return st.dictionaries(stored, json_values) if is_table else stored
    if one.type is list:
        return st.lists(
            st.sampled_from(one.choices)
            if one.choices
            else names.filter(str.isprintable)
        ).map(lambda some: sorted(set(some)))
    if one.type is dict:
        return st.dictionaries(names, printable | st.integers() | st.booleans())
    found: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(-1) | st.integers(-(2**70), 2**70),
        float: st.floats(allow_nan=False),
        str: st.sampled_from(one.choices) if one.choices else printable,
    }
    return found[one.type]


@st.composite
def declarations(draw: st.DrawFn, kind: ObjectKind) -> Declaration:
    key = tuple(draw(names) for _ in kind.keys)
    purge = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        return Declaration(kind, key, absent=True, purge=purge)
    defaults = kind.defaults(key)
    said = {}
    for name in draw(st.sets(st.sampled_from(sorted(kind.attributes)))):
        can_be = name != "address" or "".join(key).isprintable()
        unset = can_be and draw(st.booleans())
        one = kind.attributes[name]
        default = defaults.get(name, one.default)
        said[name] = default if unset else draw(values_of(one))
    return Declaration(kind, key, said, purge=purge)


def unordered(some: list[Declaration]) -> dict[Any, Declaration]:
    return {one.id: one for one in some}


several = st.lists(
    st.sampled_from(KINDS).flatmap(declarations), unique_by=lambda one: one.id
)


@given(several, st.lists(st.text()))
def test_what_is_written_is_read_again(
    wanted: list[Declaration], notes: list[str]
) -> None:
    text = write(wanted, notes=notes)

    assert unordered(read(text, KINDS)[0]) == unordered(wanted)
    assert text.encode()


def test_what_is_to_be_absent_is_written() -> None:
    declared, _ = read(ABSENT)

    assert [(one.absent, one.purge) for one in declared] == [
        (True, False),
        (True, True),
    ]
    assert write(declared) == ABSENT


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_without_digits_is_written_as_toml_has_it(value: float) -> None:
    (setting,) = [kind for kind in KINDS if kind.name == "setting"]
    name = "redelivery_delay_multiplier"

    text = write([Declaration(setting, ("#",), {name: value})])

    assert repr(tomllib.loads(text)["settings"]["#"][name]) == repr(value)


def test_a_note_is_a_comment_whatever_is_in_it() -> None:
    every = "".join(map(chr, range(256)))

    text = write([], notes=[every, "two\nlines"])

    assert read(text)[0] == []
    assert "# two\n# lines\n" in text


def test_half_a_character_is_refused() -> None:
    with pytest.raises(WrongSettings, match="half a character"):
        write([Declaration(KINDS[0], ("\ud800",))])
    assert write([], notes=["\ud800"]) == "# \ufffd\n"
