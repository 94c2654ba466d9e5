"""A report with every kind of column and parameter, for pages; nobody builds it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from dashboards import reports
from dashboards.models import ReportRow, ReportRun
from dashboards.reports import Chart, Column, Parameter, Report
from tests.make import NOON

SLUG = "what-if"
COLUMNS = (
    Column("queue", "Queue", "queue"),
    Column("cause", "Cause", "cause"),
    Column("fingerprint", "Group", "fingerprint"),
    Column("message", "Message", "message"),
    Column("tries", "Tries", "count", link="origin:{queue} cause:{cause}"),
    Column("rate", "Rate", "number", unit="a second"),
    Column("kept", "Kept", "share", note="of all that was tried"),
    Column("waited", "Waited", "seconds"),
    Column("died", "Died", "day"),
    Column("at", "At", "moment"),
    Column("words", "Words", "text"),
)
PARAMETERS = (
    Parameter("attempts", "count", 5, "Attempts", "at most", least=1, most=50),
    Parameter("factor", "number", 1.5, "Factor"),
    Parameter("since", "day", date(2026, 3, 1), "Since"),
    Parameter("queue", "text", "", "Queue", "empty: every queue"),
    Parameter("mode", "text", "fixed", "Mode", choices=("fixed", "growing")),
)
CELLS: dict[str, Any] = {
    "queue": "orders",
    "cause": "MAX_DELIVERY_ATTEMPTS",
    "fingerprint": "abc123",
    "message": 42,
    "tries": 1234,
    "rate": 2.5,
    "kept": 0.955,
    "waited": 90.0,
    "died": "2026-03-01",
    "at": "2026-03-01T02:03:04+00:00",
    "words": "no such row",
}
SAID = {
    "attempts": 5,
    "factor": 1.5,
    "since": "2026-03-01",
    "queue": "",
    "mode": "fixed",
}
REPORT = Report(
    SLUG,
    "What if",
    "What would have been saved by other attempts?",
    ("lifelines",),
    COLUMNS,
    build=lambda inputs, _: inputs["lifelines"],
    check=lambda _, __: None,
    charts=(
        Chart("Tries by wait", "steps", "waited", "tries", "queue"),
        Chart("Tries by cause", "bars", "cause", "tries"),
        Chart("Tries by queue and day", "grid", "died", "tries", "queue"),
        Chart("Kept", "lines", "at", "kept", "words"),
    ),
    parameters=PARAMETERS,
)


def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be one of the reports, for a test."""
    reports.discover()
    monkeypatch.setitem(reports.REPORTS, SLUG, REPORT)


def make_run(*rows: dict[str, Any], **fields: Any) -> ReportRun:
    """A run that ended well, with these rows; what they do not say is in ``CELLS``."""
    about: dict[str, Any] = {"state": "done", "parameters": SAID, "as_of": NOON}
    run = ReportRun.objects.create(report=SLUG, **about | fields)
    ReportRow.objects.bulk_create(
        ReportRow(report=SLUG, run=run, n=n, cells=CELLS | row)
        for n, row in enumerate(rows, 1)
    )
    return run
