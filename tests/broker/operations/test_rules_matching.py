"""Which rule is for which letter."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.operations.rules import Action, Rule, read
from broker.operations.rules.first_match import (
    CEILING,
    RuleDecision,
    SkipReason,
    Tried,
    decide,
)
from broker.operations.rules.matching import Letter, covers, fits, matches
from tests.make import NOON, seconds

LETTER = Letter(
    17,
    16,
    NOON,
    "orders",
    texts={
        "APPLIDAT": "",
        "APPLNAME": "shop",
        "DESTQ": "orders",
        "DESTQM": "BACKOUT",
        "FINGERPRINT": "0123456789ab",
        "FORMAT": "MQSTR",
        "REPLYQ": "",
        "REPLYQM": "",
        "USERID": "olga",
    },
    numbers={"APPLTYPE": 28, "FEEDBACK": 0, "MSGTYPE": 8, "PERSIST": 1, "REASON": 2053},
    properties={"tenant": "t7", "express": "true"},
)


def rule(text: str) -> Rule:
    (found,) = read(f"{text} ACTION(IGNORE)").rules
    return found


@given(st.text("ab*?", max_size=8), st.text("ab ", max_size=12))
@example("*a*b*", "xaxb")
@example("", "   ")
def test_wildcards_are_those_of_file_names(pattern: str, text: str) -> None:
    as_regex = "".join({"*": ".*", "?": "."}.get(one, one) for one in pattern)
    wanted = re.fullmatch(as_regex, text.rstrip(" ")) is not None
    assert fits(pattern, text) == wanted


def test_no_pattern_takes_long() -> None:
    began = time.monotonic()
    assert not fits("*a" * 200 + "b", "a" * 4000)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("text", "is_for"),
    [
        ("", True),
        ("DESTQ('orders')", True),
        ("DESTQ('ord*')", True),
        ("DESTQ('order?')", True),
        ("DESTQ('order')", False),
        ("DESTQ(ORDERS)", False),
        ("REPLYQ(' ')", True),
        ("REPLYQ('?*')", False),
        ("REASON(MQRC_Q_FULL)", True),
        ("REASON(2053) PERSIST(MQPER_PERSISTENT) APPLTYPE(MQAT_JAVA)", True),
        ("REASON(2053) PERSIST(MQPER_NOT_PERSISTENT)", False),
        ("FINGERPRINT(0123456789AB)", True),
        ("PROPERTY('tenant=t*')", True),
        ("PROPERTY('express=true')", True),
        ("PROPERTY('region=*')", False),
    ],
)
def test_all_patterns_of_a_rule_have_to_fit(text: str, *, is_for: bool) -> None:
    assert matches(rule(text), LETTER) == is_for


def test_a_filter_is_asked_elsewhere() -> None:
    asks = rule("FILTER('age:>2h')")
    assert not matches(asks, LETTER)
    assert matches(asks, LETTER, {"age:>2h"})


@pytest.mark.parametrize(
    ("earlier", "later", "is_so"),
    [
        ("", "REASON(1)", True),
        ("REASON(1)", "", False),
        ("REASON(1)", "REASON(1) DESTQ(A)", True),
        ("DESTQ('a*')", "DESTQ('ab')", True),
        ("DESTQ('a*')", "DESTQ('a?')", False),  # it cannot be told
        ("FILTER('error:*a*')", "FILTER('error:bab')", False),
    ],
)
def test_a_rule_may_leave_nothing_to_a_later_one(
    earlier: str, later: str, *, is_so: bool
) -> None:
    assert covers(rule(earlier), rule(later)) == is_so


TABLE = read("REASON(1) ACTION(DISCARD)\nACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(Q)")
FIRST, AGAIN, FORWARD = TABLE.rules


def tried(at_s: float = 0, **counts: int) -> Tried:
    keys = {"again": AGAIN.key, "forward": FORWARD.key, "other": "other"}
    return Tried(
        {keys[name]: count for name, count in counts.items()}, NOON + seconds(at_s)
    )


@pytest.mark.parametrize(
    ("before", "later_s", "decision"),
    [
        (None, 0, RuleDecision(1)),
        (tried(again=1), 59, RuleDecision(None, SkipReason.TOO_SOON)),
        (tried(again=1), 60, RuleDecision(1)),
        (tried(again=2), 0, RuleDecision(2)),
        (tried(again=2, forward=1), 0, RuleDecision(None, SkipReason.USED_UP)),
        (tried(again=1, other=CEILING - 1), 60, RuleDecision(None, SkipReason.CEILING)),
    ],
)
def test_a_rule_is_tried_so_often_and_then_the_next(
    before: Tried | None, later_s: float, decision: RuleDecision
) -> None:
    assert decide(TABLE, LETTER, before, NOON + seconds(later_s)) == decision


def test_what_is_ignored_meets_no_later_rule() -> None:
    table = read("DESTQ('orders') ACTION(IGNORE)\nACTION(DISCARD)")
    assert decide(table, LETTER, None, NOON) == RuleDecision(None, SkipReason.IGNORED)


def test_without_a_rule_a_letter_stays() -> None:
    table = read("REASON(1) ACTION(DISCARD)")
    assert decide(table, LETTER, None, NOON) == RuleDecision(None, SkipReason.NO_RULE)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_no_letter_is_tried_on_for_ever(retries: list[int]) -> None:
    """Though every attempt ends with another letter that is the same."""
    text = [f"ACTION(FWD) FWDQ(Q{n}) RETRY({often})" for n, often in enumerate(retries)]
    table = read("\n".join(text))
    counts: dict[str, int] = {}
    now = NOON
    for _ in range(sum(retries)):
        decision = decide(table, LETTER, Tried(counts, now - seconds(60)), now)
        assert decision.rule is not None
        key = table.rules[decision.rule].key
        counts[key] = counts.get(key, 0) + 1
        now += seconds(60)
    assert decide(table, LETTER, Tried(counts, NOON), now).why is SkipReason.USED_UP
    assert Action.FWD in {one.action for one in table.rules}
