"""Runs of reports: asking for one, taking it, and what became of it.

All that pages need. A report has at most one run that waits or is running, and asking
for another gives that one. The process that runs it holds a lock, so that a run whose
lock nobody holds is known to have died.
"""

from __future__ import annotations

from celery import current_app
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Greatest, Now

from broker import audit
from broker.models import Act
from dashboards.models import ReportRun
from dashboards.reports import locks

State = ReportRun.State
ACTIVE = (State.WAITING, State.RUNNING)
TASK = "dashboards.tasks.run_report"  # which imports this module
GONE = "The process that ran it ended before the report did. Nothing was changed."


@transaction.atomic
def ask_for(slug: str, user: User | AnonymousUser | None = None) -> ReportRun:
    """The report's run that waits or is running; a new one if there is none."""
    asked = user if user and user.is_authenticated else None
    for run in active(slug):
        if has_died(run):
            stop(run, GONE)
    ReportRun.objects.bulk_create(
        [ReportRun(report=slug, requested_by=asked)], ignore_conflicts=True
    )
    run = active(slug).get()
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
