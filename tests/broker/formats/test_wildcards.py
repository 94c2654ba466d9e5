"""Patterns over addresses, by the manual's own examples."""

from __future__ import annotations

from itertools import permutations

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from broker.config.address_settings import merge
from broker.formats.wildcards import (
    PLAIN,
    Syntax,
    check_match,
    check_pattern,
    configured,
    matches,
    specificity,
)
from broker.models import AddressSetting

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
PARTS = st.lists(st.sampled_from(["a", "bb", "*"]), min_size=0, max_size=4)
SLASHES = Syntax("/", ">", "+")
LITERAL = Syntax(markers="()")


@pytest.mark.spec("MATCH-1")
@pytest.mark.parametrize(
    ("pattern", "address", "covered"),
    [
        ("news.europe.#", "news.europe", True),
        ("news.europe.#", "news.europe.sport", True),
        ("news.europe.#", "news.europe.politics.regional", True),
        ("news.europe.#", "news.usa", False),
        ("news.europe.#", "news.europeX", False),
        ("news.*", "news.europe", True),
        ("news.*", "news", False),
        ("news.*", "news.europe.sport", False),
        ("news.*.sport", "news.europe.sport", True),
        ("news.*.sport", "news.europe.politics", False),
        ("#", "anything.at.all", True),
        ("test.#", "testing.A", False),
        ("a$b", "a$b", True),
    ],
)
def test_a_pattern_covers_whole_words(
    pattern: str, address: str, covered: bool
) -> None:
    assert matches(pattern, address) is covered


@pytest.mark.spec("MATCH-1")
def test_the_characters_can_be_others(settings: Settings) -> None:
    settings.BROKER_WILDCARD_DELIMITER = "/"
    settings.BROKER_WILDCARD_ANY_WORDS = ">"
    settings.BROKER_WILDCARD_SINGLE_WORD = "+"
    general = AddressSetting(match="news/>", max_delivery_attempts=1)
    special = AddressSetting(match="news/+/sport", max_delivery_attempts=2)

    assert configured() == SLASHES
    assert matches("news/+/sport", "news/eu/sport", SLASHES)
    assert not matches("news/*/sport", "news/eu/sport", SLASHES)
    assert merge("news/eu/sport", [general, special]).max_delivery_attempts == 2
    assert merge("news/eu.v1", [general, special]).max_delivery_attempts == 1
    check_match("news/a.#")
    with pytest.raises(ValidationError, match="> can only be the last word"):
        check_match("news/>/sport")


def test_authorities_keep_their_own_characters(settings: Settings) -> None:
    settings.BROKER_WILDCARD_ANY_WORDS = ">"

    assert matches("orders.#", "orders.eu")
    check_pattern("orders.#")


@pytest.mark.spec("MATCH-1")
@pytest.mark.parametrize(
    "signs",
    [
        ("", "#", "*", ""),
        ("..", "#", "*", ""),
        (".", "#", "#", ""),
        (".", "#", "*", "("),
        (".", "#", "*", "(."),
    ],
)
def test_characters_that_could_not_be_told_apart_are_refused(
    signs: tuple[str, str, str, str],
) -> None:
    with pytest.raises(ImproperlyConfigured, match="BROKER_"):
        Syntax(*signs)


@pytest.mark.spec("MATCH-2")
@pytest.mark.parametrize("pattern", ["", "a.#.b", "#.b", "news.eu*", "a#", "*x.b"])
def test_a_pattern_that_could_not_mean_what_it_looks_like_is_refused(
    pattern: str,
) -> None:
    with pytest.raises(ValidationError):
        check_pattern(pattern)


@pytest.mark.spec("MATCH-3")
def test_the_more_specific_pattern_comes_first() -> None:
    ordered = ["a.b.c", "a.b.*", "a.*.c", "a.*.*", "*.b.c", "*.*.c", "a.b.#", "a.*.#"]
    ordered += ["a.#", "#"]

    assert sorted(set(ordered), key=specificity) == ordered
    assert specificity("a.*.*.d") < specificity("a.b.#")
    assert specificity("a.*.c.d") < specificity("a.*.c"), "more words first"
    assert specificity("*.b") < specificity("a.#")


@pytest.mark.spec("MATCH-3")
def test_a_literal_pattern_means_its_own_text_and_comes_after_the_exact_name(
    settings: Settings,
) -> None:
    settings.BROKER_LITERAL_MATCH_MARKERS = "()"
    rules = {"(foo.#)": 1, "foo.*": 2, "foo.#": 3, "(foo.x)": 4, "foo.x": 5}
    stored = [
        AddressSetting(match=match, max_delivery_attempts=number)
        for match, number in rules.items()
    ]

    assert merge("foo.#", stored).max_delivery_attempts == 1
    assert merge("foo.y", stored).max_delivery_attempts == 2
    assert merge("foo.y.z", stored).max_delivery_attempts == 3
    assert merge("foo.x", stored).max_delivery_attempts == 5
    assert merge("foo.x", stored[:4]).max_delivery_attempts == 4
    check_match("(a.#.b)")
    with pytest.raises(ValidationError, match="cannot be empty"):
        check_match("()")
    assert PLAIN.literal("(foo.#)") is None, "without markers they are characters"


@given(words=WORDS, stars=st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_word_replaced_by_a_star_still_matches_and_is_less_specific(
    words: list[str], stars: list[bool]
) -> None:
    starred = ["*" if star else word for word, star in zip(words, stars, strict=False)]
    address, pattern = ".".join(words), ".".join(starred)

    assert matches(pattern, address)
    assert (specificity(address) < specificity(pattern)) == (pattern != address)
    assert specificity(pattern) < specificity("#")


@pytest.mark.spec("MATCH-3", "MATCH-7")
@given(
    address=st.lists(st.sampled_from(["a", "bb"]), min_size=1, max_size=4),
    patterns=st.lists(st.tuples(PARTS, st.booleans()), max_size=30),
)
def test_no_two_patterns_of_one_address_are_equally_specific(
    address: list[str], patterns: list[tuple[list[str], bool]]
) -> None:
    every = {".".join([*parts, "#"] if any_ else parts) for parts, any_ in patterns}
    covering = [one for one in every if one and matches(one, ".".join(address))]

    assert len({specificity(one) for one in covering}) == len(covering)


@pytest.mark.spec("MATCH-3")
@given(st.lists(st.sampled_from(["a.*.#", "a.b.#", "#", "a.#", "*.b.#"]), unique=True))
def test_the_order_of_patterns_of_one_address_is_the_manual_s(given: list[str]) -> None:
    ranked = sorted(given, key=specificity)
    expected = ["a.b.#", "a.*.#", "*.b.#", "a.#", "#"]

    assert ranked == [one for one in expected if one in given]


@pytest.mark.spec("MATCH-7")
def test_the_answer_does_not_depend_on_the_order_of_settings() -> None:
    patterns = ["a.b", "a.*", "*.b", "a.#", "#"]
    stored = [
        AddressSetting(match=match, redelivery_delay_ms=number)
        for number, match in enumerate(patterns)
    ]

    answers = {
        merge("a.b", order).redelivery_delay_ms for order in permutations(stored)
    }

    assert answers == {0}
