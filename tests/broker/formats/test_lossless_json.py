"""JSON that is read and written again: nothing of it is lost."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.formats.lossless_json import (
    DEEPEST,
    Manner,
    Number,
    dumps,
    loads,
    manner_of,
)

SURROGATES = st.characters(categories=["Cs"])
TEXTS = st.text(st.characters() | SURROGATES, max_size=12)
DIGITS = st.text("0123456789", min_size=1, max_size=30)
NUMBERS = st.builds(
    lambda sign, whole, part, power: Number(sign + whole + part + power),
    st.sampled_from(["", "-"]),
    st.one_of(st.just("0"), DIGITS.map(lambda digits: "1" + digits)),
    st.just("") | DIGITS.map(lambda digits: f".{digits}"),
    st.just("") | st.integers(-400, 400).map(lambda power: f"e{power:+}"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)
BLANKS = st.text(" \t\r\n", max_size=3)
MANNERS = st.builds(
    Manner,
    line=st.just(""),
    comma=st.sampled_from([",", ", "]),
    colon=st.sampled_from([":", ": "]),
    is_ascii=st.booleans(),
    before=BLANKS,
    after=BLANKS,
) | st.builds(
    Manner,
    line=st.sampled_from(["\n", "\r\n", "\n  ", "\r\n    ", "\n\t"]),
    colon=st.sampled_from([":", ": "]),
    is_ascii=st.booleans(),
)


@given(VALUES, MANNERS)
@example(value=[Number("12345678901234567890.10")], manner=Manner())
def test_what_is_written_is_read_as_the_same(value: Any, manner: Manner) -> None:
    text = dumps(value, manner)

    assert exact(loads(text)) == exact(value)
    assert dumps(loads(text), manner) == text, "to the last character"


@given(VALUES, MANNERS)
def test_other_readers_find_the_same_in_it(value: Any, manner: Manner) -> None:
    read = json.loads(dumps(value, manner), parse_int=Number, parse_float=Number)

    assert exact(read) == exact(value)


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), MANNERS)
def test_a_text_is_written_again_as_it_was_written(value: Any, manner: Manner) -> None:
    """Where its manner shows at all."""
    text = dumps(value, manner)

    assert dumps(loads(text), manner_of(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 12345678901234567890123, "price": 1.10, "rate": 1e-7}',
        '{"z":1,"a":2,"m":{"y":[],"b":{}}}\n',
        '{\n    "a": [\n        1.0,\n        2\n    ]\n}',
        '{\r\n\t"a": "\u00e9"\r\n}',
        '"\\ud800"',
    ],
)
def test_a_usual_text_comes_out_as_it_went_in(text: str) -> None:
    assert dumps(loads(text), manner_of(text)) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0"), ("100", "1e2"), ("0", "-0.00"), ("1.5", "0.15E+1")],
)
def test_numbers_of_the_same_value_are_equal(one: str, other: str) -> None:
    assert Number(one) == Number(other)


@given(NUMBERS, NUMBERS)
def test_numbers_are_equal_where_fractions_are(one: Number, other: Number) -> None:
    assert (one == other) is (fraction(one) == fraction(other))
    assert one == Number(one.text)


def test_a_number_too_great_for_any_computer_is_compared_at_once() -> None:
    great = Number("1e" + "9" * 5000)

    assert great == Number(great.text)
    assert great != Number("1")
    assert Number("1e999999999999999999") != Number("1")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '[{"b": {"a": 1, "\\u0061": 2}}]',
        "NaN",
        "[Infinity]",
        "01",
        "{'a': 1}",
        "[1] 2",
        "",
    ],
)
def test_what_readers_do_not_agree_on_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 100_000])
def test_what_is_nested_too_deep_is_refused(opening: str, depth: int) -> None:
    inner = "1" + ("]" if opening == "[" else "}") * depth

    with pytest.raises(ValueError, match="nested more than"):
        loads(opening * depth + inner)


def test_as_deep_as_is_allowed_is_read_and_written() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST

    assert dumps(loads(text)) == text


@pytest.mark.thorough
@pytest.mark.parametrize("depth", [1, DEEPEST - 1])
def test_a_hostile_text_is_read_and_written_soon(depth: int) -> None:
    """It takes a second or two; what went through each level took half a minute."""
    text = "[" * depth + ",".join("1" * 400_000) + "]" * depth

    began = time.monotonic()
    again = dumps(loads(text))

    assert again == text
    assert time.monotonic() - began < 15


def exact(value: Any) -> Any:
    """Values that differ where a digit does, or the order of keys."""
    if isinstance(value, dict):
        return [(name, exact(one)) for name, one in value.items()]
    if isinstance(value, list):
        return tuple(map(exact, value))
    return (type(value), value.text if isinstance(value, Number) else value)


def fraction(number: Number) -> Any:
    return Fraction(number.text)
