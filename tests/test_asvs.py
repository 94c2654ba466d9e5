"""The page on OWASP's ASVS names files and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "asvs.md"
ROW = re.compile(r"^\| (V\d+\.\d+\.\d+) \| ([12]) \| ([a-z ]+) \| (.+) \|$", re.M)
NAMED = re.compile(r"`([\w./-]+\.\w+)(?:::(\w+))?`")
VERDICTS = {"met", "not applicable", "not met"}
REQUIREMENTS = 253  # of levels 1 and 2


class Row(NamedTuple):
    """One requirement, and what the page says of it."""

    number: str
    level: str
    verdict: str
    where: str


ROWS = [Row(*found) for found in ROW.findall(PAGE.read_text())]


def test_each_requirement_has_a_verdict_once() -> None:
    assert len(ROWS) == len({one.number for one in ROWS}) == REQUIREMENTS
    assert {one.verdict for one in ROWS} <= VERDICTS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_what_is_named_exists(row: Row) -> None:
    named = NAMED.findall(row.where)
    if row.verdict == "met":
        assert named, "a requirement that is met names a file or a test"
    for path, test in named:
        file = ROOT / path
        assert file.exists(), path
        if test:
            assert re.search(rf"def {test}\b", file.read_text()), test


def test_the_counts_are_those_of_the_tables() -> None:
    said = PAGE.read_text().partition("\n## ")[0]
    for verdict in VERDICTS:
        count = sum(one.verdict == verdict for one in ROWS)
        assert f"| {verdict} | {count} | " in said
