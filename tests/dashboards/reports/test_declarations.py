"""What a report says of itself can be followed: links are filters, notes sentences."""

from __future__ import annotations

import re

import pytest
from django.http import QueryDict

from broker.formats.filters import parse
from dashboards.pages.run_requests import ParametersForm
from dashboards.reports import Parameter, Report, discover
from tests.make import make_user

LIKE = {"queue": '"orders"', "cause": "rejected", "fingerprint": '"0a1b2c3d4e5f"',
        "day": "2026-03-14", "moment": "2026-03-14T12:00Z"}  # fmt: skip


@pytest.mark.parametrize("report", discover().values(), ids=list(discover()))
def test_links_are_filters_of_columns_that_are_there(report: Report) -> None:
    types = {one.name: one.type for one in report.columns}
    for column in report.columns:
        if callable(column.link):
            continue
        said = re.sub(r"{(\w+)}", lambda name: LIKE[types[name[1]]], column.link)
        assert bool(parse(said)) == bool(column.link)


LEVELS = [("debt", "open"), ("resubmits", "open"), ("time-to-clear", "hour"),
          ("rescues", "failures"), ("rule-backtest", "number")]  # fmt: skip


@pytest.mark.parametrize(("slug", "name"), LEVELS)
def test_what_is_so_at_one_moment_is_not_added_up(slug: str, name: str) -> None:
    (column,) = [one for one in discover()[slug].columns if one.name == name]
    assert not column.has_sum


def test_two_policies_are_not_added_up() -> None:
    assert not [one for one in discover()["what-if"].columns if one.has_sum]


@pytest.mark.parametrize("said", ["nan", "inf", "-inf"])
def test_a_parameter_is_a_number_that_can_be_kept(said: str) -> None:
    parameter = Parameter("factor", "number", 1.5, "Factor")
    with pytest.raises(ValueError, match="Factor is not a number"):
        parameter.read(said)


@pytest.mark.parametrize("report", discover().values(), ids=list(discover()))
def test_rows_are_of_a_queue_so_that_rights_apply(report: Report) -> None:
    asked = {one.name for one in report.parameters}
    assert "queue" in asked | {c.name for c in report.columns if c.type == "queue"}
    assert not [one for one in report.columns if one.note and one.note[-1] != "."]


def test_every_report_says_what_it_is() -> None:
    for slug, about in discover().items():
        assert slug == about.slug
        assert about.faults() == []


@pytest.mark.django_db
def test_a_table_of_rules_is_written_in_lines() -> None:
    said = QueryDict("queue=DLQ&days=30&rules=ACTION(RETRY)%0D%0AACTION(IGNORE)")
    form = ParametersForm(discover()["rule-backtest"], make_user(), said)

    assert form.is_valid(), form.errors
    assert form.cleaned_data["rules"] == "ACTION(RETRY)\nACTION(IGNORE)"
    assert str(form["rules"]).startswith("<textarea")
    assert str(form["queue"]).startswith("<input")
