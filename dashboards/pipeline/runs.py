"""Runs of reports: asking for one, taking it, and what became of it.

All that pages need. A report has at most one run that waits or is running, and asking
for another gives that one. The process that runs it holds a lock, so that a run whose
lock nobody holds is known to have died.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from celery import current_app
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Greatest, Now

from broker.models import Act
from broker.security import audit
from dashboards.models import ReportRun
from dashboards.pipeline import locks
from dashboards.reports import discover
from dashboards.reports.errors import Cancelled

State = ReportRun.State
ACTIVE = (State.WAITING, State.RUNNING)
TASK = "dashboards.tasks.run_report"  # which imports this module
GONE = "The process that ran it ended before the report did. Nothing was changed."


@transaction.atomic
def ask_for(
    slug: str,
    user: User | AnonymousUser | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ReportRun:
    """The report's run with these parameters that waits or is running; a new one if
    there is none.

    Raises:
        ValueError: the parameters are not the report's; a sentence for people.
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
    """Tell the reports worker of a run that waits, once this transaction is through.

    Safe to do again: a run is taken once. When Redis is away, the run goes on waiting
    until somebody asks again, or the night comes.
    """
    if run.state == State.WAITING:
        transaction.on_commit(
            lambda: current_app.send_task(TASK, [run.pk], retry=False),
            robust=True,
        )


def take(run_id: int) -> ReportRun | None:
    """Make a waiting run this process' own, who holds its lock; None if it is not."""
    taken = ReportRun.objects.filter(pk=run_id, state=State.WAITING).update(
        state=State.RUNNING, started_at=Now()
    )
    return ReportRun.objects.get(pk=run_id) if taken else None


def cancel(run: ReportRun, user: User) -> None:
    """Ask for the end of a run that has not ended: at once where it waits; where it is
    running, its process ends it within a second or two."""
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
    """Say how far a run is.

    Raises:
        Cancelled: it is not to go on.
    """
    tell(run, progress)
    if is_cancelled(run):
        raise Cancelled


def history(slug: str) -> QuerySet[ReportRun]:
    """The runs of a report, the newest first, with who asked for each."""
    return ReportRun.objects.filter(report=slug).select_related("requested_by")


def tell(run: ReportRun, progress: float, stage: str | None = None) -> None:
    """Say how far a run is, from 0 to 1. It never goes back."""
    words = {} if stage is None else {"stage": stage}
    ReportRun.objects.filter(pk=run.pk, state=State.RUNNING).update(
        progress=Greatest("progress", progress), **words
    )


def stop(run: ReportRun, error: str) -> None:
    """End a run that did not come to its end, with a sentence that says why."""
    ReportRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=State.STOPPED, ended_at=Now(), error=error
    )


def has_died(run: ReportRun) -> bool:
    """Whether it says that it is running, and nobody runs it."""
    return run.state == State.RUNNING and not locks.is_held(run.pk)


def active(slug: str) -> QuerySet[ReportRun]:
    return ReportRun.objects.filter(report=slug, state__in=ACTIVE)
