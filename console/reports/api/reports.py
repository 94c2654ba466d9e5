"""Reports: definitions, results and runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, cast

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.monitoring.dead_letters import NEWEST
from broker.security.users import User
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import Nothing, RequestBody
from console.reports.api import rows
from dashboards.models import ReportRun
from dashboards.pages import results, run_requests, schedules
from dashboards.pages.results import ResultsQuery
from dashboards.reports import Column, Parameter, Report, discover

router = Router(tags=["reports"])

VIEW, RUN = "dashboards.view_report", "dashboards.run_report"


class RunState(Schema):
    """One run of a report."""

    id: int
    report: str
    state: Literal["waiting", "running", "done", "stopped", "cancelled"]
    parameters: dict[str, Any]
    requested_by: str | None  # null: the schedule
    requested_at: datetime
    started_at: datetime | None
    cancelled_at: datetime | None  # when a cancel was requested
    ended_at: datetime | None
    stage: str
    progress: float  # from 0 to 1
    error: str
    as_of: datetime | None  # all events before this are included
    rows: int | None
    duration_s: float | None


class CheckOf(Schema):
    """Two numbers that must agree, added up over all that the run built."""

    claim: str
    found: int
    expected: int
    times: int


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
    # what rows of a report of minutes are added up by
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


class Wish(RequestBody):
    """The parameters of a run; missing ones get their defaults."""

    parameters: dict[str, Any] = Field(default_factory=dict, max_length=50)


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
    one = known(slug)
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
    one = known(slug)
    done = results.visible_runs(request.user, one).filter(state=ReportRun.State.DONE)
    run = done.filter(pk=page.run).first() if page.run else done.first()
    if page.run and run is None:
        raise Http404(f"run {page.run}")
    wanted = ResultsQuery.of(one, page.dict() | {"run": run.pk if run else ""})
    found, following = rows.page_of(request, wanted, page.after, page.limit)
    as_of = run.as_of if run else None
    return {"as_of": as_of, "rows": found, "next": following}


@router.post(
    "/reports/{slug:slug}/runs",
    response={200: RunState, **REFUSED},
    summary="Run a report",
)
def run_report(request: HttpRequest, slug: Path[str], wish: Wish) -> dict[str, Any]:
    """Requests a run, or joins the waiting or running one with the same parameters."""
    require(request, VIEW)
    require(request, RUN)
    one = known(slug)
    try:
        run = run_requests.ask(cast(User, request.user), one, wish.parameters)
    except ValueError as error:
        where = ("body", "parameters")
        raise ValidationError([{"loc": where, "msg": str(error)}]) from error
    return state_of(run)


@router.get(
    "/reports/{slug:slug}/runs",
    response={200: Runs, **REFUSED},
    summary="The runs of a report",
)
def list_runs(
    request: HttpRequest, slug: Path[str], page: Query[RunsPage]
) -> dict[str, Any]:
    """The newest first."""
    require(request, VIEW)
    every = results.visible_runs(request.user, known(slug))
    found = list(every.filter(pk__lt=page.before)[: page.limit + 1])
    part = found[: page.limit]
    return {
        "runs": [state_of(one) for one in part],
        "next": part[-1].pk if len(found) > page.limit else None,
    }


@router.get(
    "/reports/{slug:slug}/runs/{int:run_id}",
    response={200: RunDetail, **REFUSED},
    summary="A run of a report",
)
def read_run(
    request: HttpRequest, slug: Path[str], run_id: Path[int]
) -> dict[str, Any]:
    """The progress or the result of a run."""
    require(request, VIEW)
    one = run_of(request, slug, run_id)
    return state_of(one) | {"checks": results.visible_checks(request.user, one)}


@router.post(
    "/reports/{slug:slug}/runs/{int:run_id}/cancel",
    response={200: RunState, **REFUSED},
    summary="Cancel a run of a report",
)
def cancel_run(
    request: HttpRequest, slug: Path[str], run_id: Path[int], why: Nothing
) -> dict[str, Any]:
    """Requests a cancel; the run ends within seconds and changes nothing. No effect on
    a finished run.
    """
    require(request, VIEW)
    require(request, RUN)
    one = run_of(request, slug, run_id)
    run_requests.cancel(cast(User, request.user), one)
    one.refresh_from_db()
    return state_of(one)


def known(slug: str) -> Report:
    try:
        return discover()[slug]
    except KeyError:
        raise Http404(f"report {slug}") from None


def run_of(request: HttpRequest, slug: str, run_id: int) -> ReportRun:
    seen = results.visible_runs(request.user, known(slug))
    one = seen.filter(pk=min(run_id, results.LARGEST)).first()
    if one is None:
        raise Http404(f"run {run_id}")
    return one


def summary(
    request: HttpRequest, one: Report, clock: list[schedules.Scheduled]
) -> dict[str, Any]:
    last = results.visible_runs(request.user, one).first()
    following = schedules.of(one, clock)
    return {
        "slug": one.slug,
        "title": one.title,
        "question": one.question,
        "by_day": one.is_by_day,
        "next_run_at": following[0].next_at if following else None,
        "last_run": state_of(last) if last else None,
    }


def fields_of(one: Column | Parameter, schema: type[Schema]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in schema.model_fields}


def state_of(run: ReportRun) -> dict[str, Any]:
    by = run.requested_by
    own = {"id", "requested_by", "duration_s"}
    fields = {name: getattr(run, name) for name in RunState.model_fields.keys() - own}
    return fields | {
        "id": run.pk,
        "requested_by": by.get_username() if by else None,
        "duration_s": run.duration.total_seconds() if run.duration else None,
    }
