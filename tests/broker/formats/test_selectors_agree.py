"""Selectors that nobody thought of: Python and PostgreSQL agree, nothing breaks out."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from broker.errors.messages import InvalidSelector
from broker.formats.selectors import Selector, parse
from broker.formats.selectors.parsing import LENGTH
from broker.formats.selectors.patterns import Pattern
from tests.broker.selectors import in_postgresql

MATCHED = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck)
)
CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
STRINGS = st.text("ab%_\\'\"$.", max_size=4) | st.text(CHARACTERS, max_size=4)
PROPERTIES = st.sampled_from(
    ["a", "b", "c", "$d", "ünï", "type", "a-b", "a.b", "a b", 'a"b', "not", "😀"]
)
PLAIN = re.compile(r"[a-z$ünï]+")
NUMBERS = (
    st.integers(-9, 9)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**63, 2**64 - 1, 2**64, -(2**64), 10**30])
    | st.sampled_from([0.1, 0.5, 1.5, -2.0, 1e22, 1e-300, 3e300])
)


def named(name: str) -> str:
    """A property's name in a selector, in quotes where it needs them."""
    if PLAIN.fullmatch(name) and name != "not":
        return name
    return '"' + name.replace('"', '""') + '"'


NAMES = PROPERTIES.map(named)
DECIMALS = st.decimals(
    -(2**65), 2**65, allow_nan=False, allow_infinity=False, places=3
).map("({})".format)
SCALARS = STRINGS | st.booleans() | NUMBERS | st.none()
DOCUMENTS = st.dictionaries(
    PROPERTIES,
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.text("ab", max_size=1), SCALARS, max_size=2),
    max_size=6,
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


LITERALS = STRINGS.map(quoted)
NUMERALS = NUMBERS.map(lambda number: f"({number!r})") | DECIMALS


def calculated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner) | (
        inner.map("(- {})".format)
    )


SUMS = st.recursive(NAMES | NUMERALS, calculated, max_leaves=4)
EQUAL, ORDERED = st.sampled_from(["=", "<>"]), st.sampled_from(["<", "<=", ">", ">="])
NOT = st.sampled_from(["", "NOT"])
BOOLEANS = st.sampled_from(["TRUE", "false"])
ATOMS = (
    NAMES
    | BOOLEANS
    | st.builds("{} {} {}".format, SUMS | LITERALS | BOOLEANS, EQUAL, SUMS | LITERALS)
    | st.builds("{} {} {}".format, NAMES, EQUAL, BOOLEANS)
    | st.builds("{} {} {}".format, SUMS, ORDERED, SUMS)
    | st.builds("{} {} BETWEEN {} AND {}".format, SUMS, NOT, SUMS, SUMS)
    | st.builds("{} {} IN ({}, {})".format, NAMES, NOT, LITERALS, LITERALS)
    | st.builds("{} {} LIKE {}".format, NAMES, NOT, LITERALS)
    | st.builds("{} IS {} NULL".format, NAMES, NOT)
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["AND", "OR"])
    return st.builds("({} {} {})".format, inner, signs, inner) | (
        inner.map("NOT ({})".format)
    )


SELECTORS = st.recursive(ATOMS, combined, max_leaves=5)


@pytest.mark.django_db
@MATCHED
@given(asked=st.lists(st.tuples(SELECTORS, DOCUMENTS), min_size=1, max_size=8))
@example(asked=[("a * b = c", {"a": 1e-300, "b": 1e-300, "c": 0.0})])
@example(asked=[("a = b", {"a": [1], "b": 1}), ("a = b", {"a": 1, "b": "1"})])
@example(asked=[("a LIKE '^.*$'", {"a": "^.*$"}), ("a LIKE '_\\%'", {"a": "\n\\x"})])
@example(asked=[("a" + "*a" * 20 + " > 0", {"a": 10**4200})])
@example(asked=[("a" + "*a" * 20 + " > 0", {"a": 5e-324})])
def test_python_and_postgresql_agree(asked: list[tuple[str, Any]]) -> None:
    decidable = [one for one in asked if parse(one[0]).path is not None]

    decided = in_postgresql(decidable)

    assert decided == [parse(text).matches(document) for text, document in decidable]


PIECES = st.sampled_from(
    [
        *(
            "a",
            "7",
            "0.5",
            "1e9",
            "'x'",
            "''",
            "'",
            '"',
            "\\",
            "\\'",
            "$",
            "$.a",
            "@",
            "?",
        ),
        *(
            "(",
            ")",
            ",",
            "=",
            "<>",
            "<",
            "+",
            "-",
            "*",
            "/",
            "%",
            "||",
            "&&",
            "==",
            "!",
        ),
        *(
            " AND ",
            " OR ",
            " NOT ",
            " IS NULL",
            " IN ",
            " LIKE ",
            " BETWEEN ",
            " ESCAPE ",
        ),
        *(
            " TRUE",
            "'%_'",
            "\0",
            "\ud800",
            "ß",
            "\u202e",
            "--",
            "/*",
            ";",
            "'); DROP",
            "\n",
        ),
        *('" == "" || $.a == "', 'like_regex ".*"', "$$", "%(path)s", "%s", "{}"),
    ]
)
HOSTILE = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40)


@pytest.mark.django_db
@MATCHED
@given(text=HOSTILE | HOSTILE.map(quoted).map("a = {}".format))
@example(text="a = '\" || (1 == 1) || \"'")
@example(text="0 = 'hyphenated_props:'")
@example(text='a LIKE \'" flag "x" || %\'')
def test_whatever_is_typed_is_a_selector_or_a_clear_error(text: str) -> None:
    selector = parsed(text)
    if isinstance(selector, InvalidSelector):
        assert 1 <= selector.position <= len(text) + 1
        assert selector.why
        return
    documents: list[dict[str, Any]] = [{}, {"a": text[4:]}, {"a": 1}, {"a": "x"}]
    decided = [selector.matches(document) for document in documents]
    if selector.path is not None:
        paths = in_postgresql([(text, document) for document in documents])
        assert paths == decided


def parsed(text: str) -> Selector | InvalidSelector:
    try:
        return parse(text)
    except InvalidSelector as error:
        return error


@MATCHED
@given(wanted=STRINGS, document=st.fixed_dictionaries({"a": STRINGS}))
def test_a_quoted_string_is_equal_to_itself_alone(
    wanted: str, document: dict[str, str]
) -> None:
    selector = parse(f"a = {quoted(wanted)}")

    assert selector.matches(document) is (wanted == document["a"])


def brute_force(pattern: str, string: str) -> bool:
    """The definition of LIKE, tried out."""
    if not pattern:
        return not string
    if pattern[0] == "%":
        return any(brute_force(pattern[1:], string[n:]) for n in range(len(string) + 1))
    alike = bool(string) and pattern[0] in ("_", string[0])
    return alike and brute_force(pattern[1:], string[1:])


def test_patterns_match_as_defined() -> None:
    patterns = [
        "".join(p) for n in range(5) for p in itertools.product("ab_%", repeat=n)
    ]
    strings = ["".join(s) for n in range(5) for s in itertools.product("ab", repeat=n)]

    wrong = [
        (pattern, string)
        for pattern in patterns
        for string in strings
        if Pattern.of(pattern).matches(string) != brute_force(pattern, string)
    ]
    assert wrong == []


class Counted(str):
    """A string that counts how many of its characters were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        for character in super().__iter__():
            self.looks += 1
            yield character


def test_a_pattern_looks_at_each_character_once() -> None:
    string = Counted("a" * 20_000)

    assert not Pattern.of("%a" * 1000 + "b").matches(string)
    assert string.looks == len(string)


@contextmanager
def calls() -> Iterator[list[int]]:
    """Counts calls of functions, in Python and below: work, whatever the machine."""
    count = [0]

    def profile(_frame: object, event: str, _argument: object) -> None:
        count[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)


CALLS_OF_A_CHARACTER = 60


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "(",
            "NOT ",
            "-",
            "((a",
            "a=1 OR ",
            "a=1 AND (",
            "''",
            "'",
            "a",
            "1",
            "1e",
            ".",
        ),
        *(
            "a LIKE '%",
            "a IN ('x','",
            "a BETWEEN 1 AND ",
            "+1",
            "*a",
            " ",
            "%_",
            "0x",
            ")",
        ),
        *("a=1 AND b=2 OR ", "NOT (a=1 OR ", "a.", "''''a", "<>", "IS NULL "),
    ],
)
def test_the_work_of_parsing_grows_with_the_length_only(piece: str) -> None:
    parse.cache_clear()
    parse("a = 1")  # the grammar is read
    for text in (piece * (LENGTH // len(piece)), f"a={piece * (8000 // len(piece))}1"):
        with calls() as count:
            parsed(text[:LENGTH])

        assert count[0] <= CALLS_OF_A_CHARACTER * LENGTH


@pytest.mark.django_db
@pytest.mark.parametrize("sign", [" OR ", " AND "])
def test_the_longest_selector_is_decided_in_postgresql(sign: str) -> None:
    terms = sign.join("a" for _ in range(LENGTH // (1 + len(sign))))
    names = sign.join(f"a LIKE '{n}_%b'" for n in range(400))

    assert in_postgresql([(terms, {"a": True}), (names, {"a": "7xb"})]) == [
        True,
        sign == " OR ",
    ]


@pytest.mark.django_db
def test_deep_conditions_are_decided_in_postgresql() -> None:
    deep = "NOT (a OR " * 15 + "a" + ")" * 15

    assert in_postgresql([(deep, {"a": False})]) == [parse(deep).matches({"a": False})]
