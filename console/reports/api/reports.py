"""Reports: definitions, results and runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.monitoring.dead_letters import NEWEST
from console.edges.rest.acts import serve
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.reports.api import rows
from dashboards.acts import (
    VIEW,
    RunState,
    cancel_run,
    find_report,
    find_run,
    read_state,
    run_report,
    visible_runs,
)
from dashboards.models import ReportRun
from dashboards.pages import results, schedules
from dashboards.pages.results import ResultsQuery
from dashboards.reports import Column, Parameter, Report, discover

router = Router(tags=["reports"])

PATH = "/reports/{slug:slug}/runs"


class CheckOf(Schema):
    """Two numbers that must agree, added up over all that the run built."""

    claim: str
    found: int
    expected: int
    times: int


@dataclass(frozen=True, slots=True)
class RunDetail(RunState):
    """One run, with its checks if the caller may inquire all queues."""

    checks: list[CheckOf]


class Summary(Schema):
    """A report in the list."""

    slug: str
    title: str
    question: str
    by_day: bool
    next_run_at: datetime | None
    last_run: RunState | None


class Reports(Schema):
    """All reports."""

    reports: list[Summary]


class ColumnOf(Schema):
    """One column of a report's rows."""

    name: str
    title: str
    type: str
    unit: str
    note: str


class ParameterOf(Schema):
    """A parameter of a report."""

    name: str
    type: str
    default: Any
    title: str
    note: str
    choices: list[Any]
    least: float | None
    most: float | None


class Declaration(Summary):
    """The definition of a report."""

    columns: list[ColumnOf]
    parameters: list[ParameterOf]


class RowsPage(Schema):
    """Which rows, and the size of the page."""

    # the last days, up to today; for reports by day
    days: Literal["1", "7", "30", "90"] = "30"
    queue: str = Field(default="", max_length=255, pattern=NO_NUL)
    # how the rows of a report of minutes are added up
    by: Literal["hour", "minute"] = "hour"
    # the run to show; null: the last successful run
    run: int | None = Field(default=None, ge=1, le=NEWEST)
    after: str = Field(default="", max_length=60, pattern=rows.CURSOR)
    limit: int = Field(default=100, ge=1, le=1000)


class Rows(Schema):
    """A page of rows, by column name; the next page begins after ``next``."""

    as_of: datetime | None
    rows: list[dict[str, Any]]
    next: str | None


class RunsPage(Schema):
    """Where the page begins (a run's number, descending), and its size."""

    before: int = Field(default=NEWEST, ge=1, le=NEWEST)
    limit: int = Field(default=50, ge=1, le=200)


class Runs(Schema):
    """A page of runs, the newest first; the next page is before ``next``."""

    runs: list[RunState]
    next: int | None


@router.get("/reports", response={200: Reports, **REFUSED}, summary="The reports")
def list_reports(request: HttpRequest) -> dict[str, Any]:
    """All reports, each with its last and next run."""
    require(request, VIEW)
    clock = schedules.every()
    every = sorted(discover().items())
    return {"reports": [summary(request, one, clock) for _, one in every]}


@router.get(
    "/reports/{slug:slug}", response={200: Declaration, **REFUSED}, summary="A report"
)
def read_report(request: HttpRequest, slug: Path[str]) -> dict[str, Any]:
    """The question of a report, its columns and parameters."""
    require(request, VIEW)
    one = find_report(slug)
    return summary(request, one, schedules.every()) | {
        "columns": [fields_of(column, ColumnOf) for column in one.columns],
        "parameters": [fields_of(each, ParameterOf) for each in one.parameters],
    }


@router.get(
    "/reports/{slug:slug}/rows",
    response={200: Rows, **REFUSED},
    summary="The rows of a report",
)
def list_rows(
    request: HttpRequest, slug: Path[str], page: Query[RowsPage]
) -> dict[str, Any]:
    """Rows on queues that the caller may inquire, the newest day first. A report with
    parameters has rows per run: of the named run, or of the last successful one. A
    report by minute has rows of hours, and of minutes with ``by=minute``.
    """
    require(request, VIEW)
    one = find_report(slug)
    done = visible_runs(request.user, one).filter(state=ReportRun.State.DONE)
    run = done.filter(pk=page.run).first() if page.run else done.first()
    if page.run and run is None:
        raise Http404(f"run {page.run}")
    wanted = ResultsQuery.of(one, page.dict() | {"run": run.pk if run else ""})
    found, following = rows.page_of(request, wanted, page.after, page.limit)
    as_of = run.as_of if run else None
    return {"as_of": as_of, "rows": found, "next": following}


@router.get(
    PATH,
    response={200: Runs, **REFUSED},
    summary="The runs of a report",
)
def list_runs(
    request: HttpRequest, slug: Path[str], page: Query[RunsPage]
) -> dict[str, Any]:
    """The newest first."""
    require(request, VIEW)
    every = visible_runs(request.user, find_report(slug))
    found = list(every.filter(pk__lt=page.before)[: page.limit + 1])
    part = found[: page.limit]
    return {
        "runs": [read_state(one) for one in part],
        "next": part[-1].pk if len(found) > page.limit else None,
    }


@router.get(
    f"{PATH}/{{int:run_id}}",
    response={200: RunDetail, **REFUSED},
    summary="A run of a report",
)
def read_run(
    request: HttpRequest, slug: Path[str], run_id: Path[int]
) -> dict[str, Any]:
    """The progress or the result of a run."""
    require(request, VIEW)
    one = find_run(request.user, slug, run_id)
    return read_state(one) | {"checks": results.visible_checks(request.user, one)}


def summary(
    request: HttpRequest, one: Report, clock: list[schedules.Scheduled]
) -> dict[str, Any]:
    last = visible_runs(request.user, one).first()
    following = schedules.of(one, clock)
    return {
        "slug": one.slug,
        "title": one.title,
        "question": one.question,
        "by_day": one.is_by_day,
        "next_run_at": following[0].next_at if following else None,
        "last_run": read_state(last) if last else None,
    }


def fields_of(one: Column | Parameter, schema: type[Schema]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in schema.model_fields}


serve(router, "POST", PATH, run_report, slug="report")
serve(
    router,
    "POST",
    f"{PATH}/{{int:run_id}}/cancel",
    cancel_run,
    slug="report",
    run_id="run",
)
