"""Runs of reports: request one, take it, cancel it, and keep its state.

Pages need nothing else. A report has at most one active run for the same parameters;
another request returns that run. The process of a run holds an advisory lock, so a
running run whose lock is free has died.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from celery import current_app
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Greatest, Now

from broker.models import Act
from broker.security import audit
from broker.security.users import User
from dashboards.models import ReportRun
from dashboards.pipeline import locks
from dashboards.reports import discover
from dashboards.reports.errors import Cancelled
from dashboards.reports.quality import CheckResult

State = ReportRun.State
ACTIVE = (State.WAITING, State.RUNNING)
# The task, by its name, because ``dashboards.tasks`` imports this module.
TASK = "dashboards.tasks.run_report"
GONE = "The process that ran it ended before the report did. Nothing was changed."


@transaction.atomic
def ask_for(
    slug: str,
    user: User | AnonymousUser | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ReportRun:
    """The waiting or running run of a report with these parameters, or a new one.

    Raises:
        ValueError: the report does not accept the parameters; a sentence for people.
    """
    asked = user if user and user.is_authenticated else None
    said = {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in discover()[slug].read(parameters or {}).items()
    }
    for run in active(slug):
        if has_died(run):
            stop(run, GONE)
    ReportRun.objects.bulk_create(
        [ReportRun(report=slug, requested_by=asked, parameters=said)],
        ignore_conflicts=True,
    )
    run = active(slug).get(parameters=said)
    if asked is not None:
        audit.record(Act.RUN_REPORT, audit.Thing("report", run.pk, slug), by=asked)
    return run


def send(run: ReportRun) -> None:
    """Send a waiting run to the reports worker after this transaction commits.

    It is safe to send a run twice: it is taken once. If Redis is not available, the run
    waits until the next request or the next nightly schedule.
    """
    if run.state == State.WAITING:
        transaction.on_commit(
            lambda: current_app.send_task(TASK, [run.pk], retry=False),
            robust=True,
        )


def take(run_id: int) -> ReportRun | None:
    """Take a waiting run; None if it does not wait. This process holds its lock."""
    taken = ReportRun.objects.filter(pk=run_id, state=State.WAITING).update(
        state=State.RUNNING, started_at=Now()
    )
    return ReportRun.objects.get(pk=run_id) if taken else None


def cancel(run: ReportRun, user: User) -> None:
    """Cancel a run that has not ended: a waiting one at once; a running one is ended by
    its process within two seconds."""
    by = f"{user.get_username()} cancelled it. Nothing was changed."
    unended = ReportRun.objects.filter(pk=run.pk, state__in=ACTIVE)
    unended.update(cancelled_at=Now(), error=by)
    if run.state == State.WAITING or has_died(run):
        end_cancelled(run)


def is_cancelled(run: ReportRun) -> bool:
    return ReportRun.objects.filter(pk=run.pk, cancelled_at__isnull=False).exists()


def end_cancelled(run: ReportRun) -> None:
    ReportRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=State.CANCELLED, ended_at=Now()
    )


def go_on(run: ReportRun, progress: float) -> None:
    """Store the progress of a run.

    Raises:
        Cancelled: somebody cancelled the run.
    """
    tell(run, progress)
    if is_cancelled(run):
        raise Cancelled


def history(slug: str) -> QuerySet[ReportRun]:
    """The runs of a report, the newest first, with the user who requested each."""
    return ReportRun.objects.filter(report=slug).select_related("requested_by")


def tell(run: ReportRun, progress: float, stage: str | None = None) -> None:
    """Store the progress of a run, from 0 to 1, and its stage. It never decreases."""
    words = {} if stage is None else {"stage": stage}
    ReportRun.objects.filter(pk=run.pk, state=State.RUNNING).update(
        progress=Greatest("progress", progress), **words
    )


def stop(run: ReportRun, error: str, checks: Sequence[CheckResult] = ()) -> None:
    """End a run that did not finish, with a sentence that says why."""
    ReportRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=State.STOPPED, ended_at=Now(), error=error, checks=list(checks)
    )


def has_died(run: ReportRun) -> bool:
    """Whether its state is running and no process holds its lock."""
    return run.state == State.RUNNING and not locks.is_held(run.pk)


def active(slug: str) -> QuerySet[ReportRun]:
    return ReportRun.objects.filter(report=slug, state__in=ACTIVE)
