"""Which rules of docs/spec.toml are kept: each beside the tests that show it.

Runs every test that is marked with the number of a rule and prints the register. The
answer is wrong (exit 1) when a rule that is called done has no test that passes, or
one that does not, and when a test claims a rule that is not in the register.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

THOROUGH = "--hypothesis-profile=thorough"
REGISTER = Path(__file__).resolve().parent.parent / "docs" / "spec.toml"


@dataclass(frozen=True)
class Rule:
    """One rule. A sentence in ``waived`` says why it needs no test."""

    number: str
    title: str
    state: str  # open or done
    waived: str = ""

    def verdict(self, tests: list[str], broken: set[str]) -> str:
        """What its tests say about it, in one word."""
        if broken.intersection(tests):
            return "BROKEN"
        if self.waived:
            return "waived"
        if tests:
            return "done" if self.state == "done" else "begun"
        return "UNSHOWN" if self.state == "done" else "open"


@dataclass(eq=False)  # pytest keeps its plug-ins in sets
class Outcomes:
    """A plug-in of pytest that remembers which marked tests passed."""

    rules: dict[str, list[str]] = field(default_factory=dict)  # by test
    passed: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for test in session.items:
            marks = test.iter_markers("spec")
            self.rules[test.nodeid] = [number for m in marks for number in m.args]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.broken.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def tests_of(self, number: str) -> list[str]:
        """The tests of one rule that came to an end; not those that were skipped."""
        ended = self.passed | self.broken
        return sorted(test for test in ended if number in self.rules.get(test, []))


def register() -> list[Rule]:
    entries = tomllib.loads(REGISTER.read_text())
    return [Rule(number, **entry) for number, entry in entries.items()]


def main() -> int:
    outcomes = Outcomes()
    code = pytest.main(
        ["-m", "spec", "-q", THOROUGH, *sys.argv[1:]], plugins=[outcomes]
    )
    in_order = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)

    rules, verdicts = register(), Counter[str]()
    for rule in rules:
        tests = outcomes.tests_of(rule.number)
        verdict = rule.verdict(tests, outcomes.broken)
        verdicts[verdict] += 1
        print(f"{verdict:8} {rule.number:10} {rule.title}")
        if rule.waived:
            print(f"{'':20}{rule.waived}")
        for test in dict.fromkeys(test.partition("[")[0] for test in tests):
            print(f"{'':20}{test}")

    known = {rule.number for rule in rules}
    claimed = {number for numbers in outcomes.rules.values() for number in numbers}
    for number in sorted(claimed - known):
        print(f"UNKNOWN  {number:10} is claimed by a test and is no rule")
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    print(f"\n{len(rules)} rules: {counts}.")
    wrong = verdicts["BROKEN"] + verdicts["UNSHOWN"] + len(claimed - known)
    return int(wrong > 0 or not in_order)


if __name__ == "__main__":
    sys.exit(main())
