"""Acts on reports: run one, cancel a run; and who may see which runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, cast

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT

from broker.acts.declaring import Holds, declared
from broker.acts.objects import KINDS
from broker.errors.acts import InvalidRequest
from broker.models import Act
from broker.security import audit, authorities
from broker.security.authorities import Principal
from broker.security.users import User
from dashboards.models import ReportRun
from dashboards.pipeline import runs
from dashboards.reports import Report, discover
from dashboards.reports.errors import NoSuchReport, NoSuchRun

VIEW, RUN = "dashboards.view_report", "dashboards.run_report"
LARGEST = 2**63 - 1  # the largest number that the database can store
ordered = partial(declared, permission=RUN, also=(VIEW,), needs_person=True)


def find_report(slug: str) -> Report:
    """A report.

    Raises:
        NoSuchReport: it does not exist.
    """
    if found := discover().get(slug):
        return found
    raise NoSuchReport(slug)


def find_run(actor: Principal, slug: str, number: int) -> ReportRun:
    """A run of a report.

    Raises:
        NoSuchReport: the report does not exist.
        NoSuchRun: it does not have the run, or the actor may not see it.
    """
    runs_of = visible_runs(actor, find_report(slug))
    if found := runs_of.filter(pk=min(number, LARGEST)).first():
        return found
    raise NoSuchRun(slug, number)


def visible_runs(actor: Principal, report: Report) -> QuerySet[ReportRun]:
    """The runs of a report, the newest first, without those with a queue parameter that
    the actor may not inquire.
    """
    every = ReportRun.objects.filter(report=report.slug)
    every = every.select_related("requested_by")
    named = [one.name for one in report.parameters if one.name == "queue"]
    held = authorities.held_by(actor) if named else None
    if held is None or held.everywhere("inquire"):
        return every
    names = every.order_by().values_list(KT("parameters__queue"), flat=True).distinct()
    visible = [one for one in names if not one or held.on("inquire", one)]
    return every.filter(Q(parameters__queue__in=visible) | Q(parameters__queue=None))


def require_queue(
    actor: Principal, report: Report, parameters: Mapping[str, Any]
) -> None:
    """Refuse a queue among the parameters that the actor may not inquire.

    Raises:
        ValueError: a sentence for people.
    """
    has_queue = "queue" in {one.name for one in report.parameters}
    queue = parameters.get("queue") if has_queue else ""
    if queue and not authorities.held_by(actor).on("inquire", str(queue)):
        raise ValueError(f"There is no queue {queue}, or none that you may see.")


KINDS.update(
    {
        "report": lambda _actor, _held, slug: find_report(slug),
        "run": lambda actor, _held, *key: find_run(actor, *key),
    }
)


@dataclass(frozen=True, slots=True)
class RunState:
    """One run of a report."""

    id: int
    report: str
    state: Literal["waiting", "running", "done", "stopped", "cancelled"]
    parameters: dict[str, Any]
    requested_by: str | None  # null: the schedule requested the run
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

    def __str__(self) -> str:
        asked = self.cancelled_at is not None and self.ended_at is None
        state = "being cancelled" if asked else self.state
        return f"Run {self.id} of {self.report} is {state}."


def read_state(run: ReportRun) -> dict[str, Any]:
    """The facts of a run, as ``RunState`` has them."""
    by, took = run.requested_by, run.duration
    apart = {
        "id": run.pk,
        "requested_by": by.get_username() if by else None,
        "duration_s": took.total_seconds() if took else None,
    }
    rest = (name for name in RunState.__slots__ if name not in apart)
    return {name: getattr(run, name) for name in rest} | apart


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report, and the parameters of the run; missing ones get their defaults."""

    report: Annotated[str, Holds("The name of the report.", names="report", most=64)]
    parameters: Annotated[
        dict[str, Any], Holds("A parameter of the report, by its name.", most=50)
    ] = field(default_factory=dict)


@ordered(recorded_as=Act.RUN_REPORT)
def run_report(actor: Principal, request: RunReport) -> RunState:
    """Run a report.

    Requests a run of the reports worker, or joins the waiting or running one with the
    same parameters.
    """
    report = find_report(request.report)
    try:
        require_queue(actor, report, request.parameters)
        run = runs.ask_for(report.slug, cast(User, actor), request.parameters)
    except ValueError as error:
        raise InvalidRequest((("parameters", str(error)),)) from error
    runs.send(run)
    return RunState(**read_state(run))


@dataclass(frozen=True, slots=True)
class CancelRun:
    """The run of a report."""

    report: Annotated[str, Holds("The name of the report.", most=64)]
    run: Annotated[
        int,
        Holds("The number of the run.", names="run", within=("report",)),
    ]


@ordered(recorded_as=Act.CANCEL_REPORT)
def cancel_run(actor: Principal, request: CancelRun) -> RunState:
    """Cancel a run of a report.

    The run ends within seconds and changes nothing. No effect on a run that has ended.
    """
    run = ReportRun.objects.select_for_update().get(pk=request.run)
    if run.is_active and not run.cancelled_at:
        user = cast(User, actor)
        runs.cancel(run, user)
        about = audit.Thing("report", run.pk, run.report)
        audit.record(Act.CANCEL_REPORT, about, by=user)
        run.refresh_from_db()
    return RunState(**read_state(run))
