"""What a report says of itself can be followed: links are filters, notes sentences."""

from __future__ import annotations

import re

import pytest

from broker.filters import parse
from dashboards.reports import Report, discover

LIKE = {"queue": '"orders"', "cause": "rejected", "fingerprint": '"0a1b2c3d4e5f"',
        "day": "2026-03-14", "moment": "2026-03-14T12:00Z"}  # fmt: skip


@pytest.mark.parametrize("report", discover().values(), ids=list(discover()))
def test_links_are_filters_of_columns_that_are_there(report: Report) -> None:
    types = {one.name: one.type for one in report.columns}
    for column in report.columns:
        said = re.sub(r"{(\w+)}", lambda name: LIKE[types[name[1]]], column.link)
        assert bool(parse(said)) == bool(column.link)


@pytest.mark.parametrize("report", discover().values(), ids=list(discover()))
def test_rows_are_of_a_queue_so_that_rights_apply(report: Report) -> None:
    asked = {one.name for one in report.parameters}
    assert "queue" in asked | {c.name for c in report.columns if c.type == "queue"}
    assert not [one for one in report.columns if one.note and one.note[-1] != "."]
    assert report.faults() == []
