"""The register of rules, and what `make spec` says of a rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.spec import Rule, register

TESTS = Path(__file__).resolve().parent
MARK = re.compile(r"mark\.spec\(([^)]*)\)")


def test_the_register_has_every_rule_once_with_a_state_and_a_title_of_its_own() -> None:
    rules = register()
    assert len(rules) == len({rule.title for rule in rules}) == 153
    assert {rule.state for rule in rules} <= {"open", "done"}


def test_tests_are_marked_with_rules_that_exist() -> None:
    marked = {
        number
        for path in TESTS.rglob("test_*.py")
        for mark in MARK.findall(path.read_text())
        for number in re.findall(r'"([^"]+)"', mark)
    }
    assert marked <= {rule.number for rule in register()}


@pytest.mark.parametrize(
    ("state", "waived", "tests", "broken", "verdict"),
    [
        ("done", "", ["t"], set(), "done"),
        ("done", "", [], set(), "UNSHOWN"),
        ("done", "", ["t", "u"], {"u"}, "BROKEN"),
        ("open", "", ["t"], set(), "begun"),
        ("open", "", [], set(), "open"),
        ("open", "", ["t"], {"t"}, "BROKEN"),
        ("done", "It says what a word means.", [], set(), "waived"),
    ],
)
def test_a_rule_is_done_only_where_a_test_says_so(
    state: str, waived: str, tests: list[str], broken: set[str], verdict: str
) -> None:
    assert Rule("X-1", "A rule", state, waived).verdict(tests, broken) == verdict
