"""Routing keys, headers and expressions of RabbitMQ are read as it reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.declarations.converters.rabbitmq.erlang_patterns import (
    NamePattern,
    patterns_of,
)
from broker.declarations.converters.rabbitmq.routing_keys import (
    is_exact,
    matches,
    of_headers,
    of_keys,
)
from broker.formats.selectors import parse

Document = dict[str, Any]


@pytest.mark.parametrize(
    ("expression", "patterns"),
    [
        ("", []),
        ("^$", []),
        (".*", ["#"]),
        ("^.*$", ["#"]),
        ("^a\\.b$", ["a.b"]),
        ("^(a|b-c)$", ["a", "b-c"]),
        ("^a\\..*", ["a.#"]),
        ("^a\\..*$", ["a.#"]),
        ("^a.*", None),
        ("a", None),
        ("^a|b$", None),
        ("^a..*", None),
    ],
)
def test_expressions_become_patterns_that_match_the_same(
    expression: str, patterns: list[str] | None
) -> None:
    assert patterns_of(expression) == patterns


@pytest.mark.parametrize(
    ("expression", "name", "is_match"),
    [
        ("", "any", True),
        ("rd", "orders", True),
        ("^[[:alpha:]]+$", "orders", True),
        ("^[[:digit:]_-]+$", "orders", False),
        ("^\\Qa.b\\E$", "a.b", True),
        ("^\\Qa.b\\E$", "axb", False),
        ("^(?!amq\\.).*", "amq.x", False),
        ("(?i)^ORD", "orders", True),
        ("\\w", "ü", False),
        ("[[]", "[", True),
        ("[^]a]", "]", False),
        ("(", "(", False),
        ("*", "*", False),
    ],
)
def test_patterns_of_policies_are_those_of_erlang(
    expression: str, name: str, *, is_match: bool
) -> None:
    assert NamePattern.of(expression).matches(name) is is_match


WORDS = st.sampled_from(["a", "b_", "%", "it's", ""])
KEYS = st.lists(WORDS, max_size=4).map(".".join)
PATTERN_WORDS = WORDS | st.sampled_from(["*", "#", "#"])
PATTERNS = st.lists(PATTERN_WORDS, min_size=1, max_size=4).map(".".join)


@given(patterns=st.lists(PATTERNS, min_size=1, max_size=3), key=KEYS)
def test_selectors_take_what_bindings_to_topics_take(
    patterns: list[str], key: str
) -> None:
    selector, nearly = of_keys(patterns, is_topic=True)
    taken = not selector or parse(selector).matches({"JMSType": key or None}) is True
    wanted = any(matches(one, key, is_topic=True) for one in patterns)

    assert taken >= wanted
    assert taken == wanted or nearly
    assert nearly == [] or any(not is_exact(one) for one in patterns)


@pytest.mark.parametrize(
    ("pattern", "key", "is_match"),
    [
        ("#", "", True),
        ("*", "", False),
        ("*", "a", True),
        ("", "", True),
        ("a.#", "a", True),
        ("#.b", "a.a.b", True),
        ("*.#.b", "b", False),
        ("*.#.b", "a.b", True),
        ("a.*", "a", False),
        ("a.*", "a.", True),
    ],
)
def test_keys_match_patterns(pattern: str, key: str, *, is_match: bool) -> None:
    assert matches(pattern, key, is_topic=True) is is_match


@pytest.mark.parametrize(
    ("arguments", "selector"),
    [
        ([{"a": "x", "n": 1}], "(a = 'x' AND n = 1)"),
        ([{"x-match": "any", "a": True, "b": 2.5}], "(a = TRUE OR b = 2.5)"),
        (
            [{"content-type": "it's", "and": 1}],
            "(\"content-type\" = 'it''s' AND \"and\" = 1)",
        ),
        ([{"x-match": "all", "x-own": 1}], ""),
        ([{"x-match": "all-with-x", "x-own": None}], '("x-own" IS NOT NULL)'),
        ([{"x-match": "any"}], None),
        ([{"a": 1}, {"b": 2}], "(a = 1) OR (b = 2)"),
    ],
)
def test_headers_become_selectors(
    arguments: list[Document], selector: str | None
) -> None:
    assert of_headers(arguments) == selector
    if selector:
        parse(selector)
