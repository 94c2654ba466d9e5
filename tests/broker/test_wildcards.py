"""Patterns over addresses, by the manual's own examples."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from broker.wildcards import check_pattern, matches, specificity

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


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


@given(words=WORDS, stars=st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_word_replaced_by_a_star_still_matches_and_is_less_specific(
    words: list[str], stars: list[bool]
) -> None:
    starred = ["*" if star else word for word, star in zip(words, stars, strict=False)]
    address, pattern = ".".join(words), ".".join(starred)

    assert matches(pattern, address)
    assert (specificity(address) < specificity(pattern)) == (pattern != address)
    assert specificity(pattern) < specificity("#")
