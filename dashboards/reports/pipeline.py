"""One run of a report: the journal to the archive, the archive to rows, rows to pages.

Only whole days are counted, and only those that the archive has something new for.
They replace what was published of them before, in one transaction with the run's end:
a run that is repeated, or dies anywhere, leaves the right numbers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from dashboards.models import ReportRun
from dashboards.reports import Report, bronze, discover, locks, runs, session, sources
from dashboards.reports.errors import Overtaken, ReportError
from dashboards.reports.sources import Days
from dashboards.reports.watch import watched

Rows = list[dict[str, Any]]


def perform(run_id: int) -> None:
    """Run what was asked for; nothing if that was done, or is being done elsewhere."""
    with locks.attempted(run_id) as held:
        run = runs.take(run_id) if held else None
        if not run:
            return
        try:
            steps(run, discover()[run.report])
        except Exception as error:
            runs.stop(run, sentence(error))
            raise


def steps(run: ReportRun, report: Report) -> None:
    runs.tell(run, 0.0, "Copying the journal to the archive")
    as_of = bronze.export(lambda share: runs.tell(run, 0.3 * share))
    through = sources.last_window()
    days = sources.reopened(after=counted_through(report), through=through)
    rows = count(run, report, days, through) if days else []
    with transaction.atomic():
        end(run, as_of, through, len(rows))
        if days:
            replace(report, days, rows)


def counted_through(report: Report) -> int:
    """The last window that is in what the report has published; zero before any."""
    done = ReportRun.objects.filter(report=report.slug, state=ReportRun.State.DONE)
    last = done.order_by("-through").first()
    return (last.through or 0) if last else 0


def count(run: ReportRun, report: Report, days: Days, through: int) -> Rows:
    """The report's rows for some days, checked.

    Raises:
        ArchiveDamaged, QualityBroken: there is nothing that could be published.
    """
    runs.tell(run, 0.3, "Starting Spark")
    spark = session.spark(settings.VAR_DIR)
    runs.tell(run, 0.4, "Counting")
    with watched(spark, run, 0.4, 0.7):
        events = sources.events(spark, days, through)
        rows: Rows = report.build(events).toArrow().to_pylist()
    runs.tell(run, 0.7, "Checking the numbers")
    with watched(spark, run, 0.7, 0.95):
        report.check(events, rows)
    return rows


def end(run: ReportRun, as_of: datetime, through: int, rows: int) -> None:
    """
    Raises:
        Overtaken: the run is not this process' own any more.
    """
    ended = ReportRun.objects.filter(pk=run.pk, state=ReportRun.State.RUNNING).update(
        state=ReportRun.State.DONE,
        progress=1,
        ended_at=Now(),
        as_of=as_of,
        through=through,
        rows=rows,
    )
    if not ended:
        raise Overtaken


def replace(report: Report, days: Days, rows: Rows) -> None:
    """Put the rows of whole days in the place of what was published of them."""
    table = apps.get_model(report.table)._default_manager
    table.filter(day__range=days).delete()
    table.bulk_create((table.model(**row) for row in rows), batch_size=1000)


def sentence(error: Exception) -> str:
    """What stopped a run, for people."""
    if isinstance(error, ReportError):
        return str(error)
    return (
        f"The report stopped on an error that it does not know, {type(error).__name__}."
        " Nothing was published. Look into the worker's log, then run it again."
    )
