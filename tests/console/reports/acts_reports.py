"""Orders for reports, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboards.acts import CancelRun, RunReport
from dashboards.models import ReportRun
from tests.console.act_doors import Example
from tests.make import make_queue

REPORT = "what-if"  # it has a queue among its parameters


def make_run() -> Mapping[str, Any]:
    make_queue()
    run = ReportRun.objects.create(report=REPORT, parameters={"queue": "orders"})
    return {"report": REPORT, "run": run.pk}


EXAMPLES = {
    "run_report": Example(
        RunReport,
        "dashboards:run",
        about=("report",),
        make=lambda: {"report": "dead-letters"},
        absent={"report": "never"},
        missing="There is no report",
        changes=(ReportRun,),
        is_hidden=False,
    ),
    "cancel_run": Example(
        CancelRun,
        "dashboards:cancel",
        about=("report", "run"),
        make=make_run,
        absent={"report": REPORT, "run": 987_654},
        missing="There is no run",
        changes=(ReportRun,),
    ),
}
