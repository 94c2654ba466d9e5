"""One run of a report: from the journal to bronze, to silver, to rows for pages.

Each step publishes complete results in one transaction, and starts with what changed
since the last run. So a run that is repeated, or that dies at any point, leaves correct
numbers. If another run has updated silver since this one was requested, that step is
skipped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import date, datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop
from pyspark.sql import SparkSession

from dashboards.models import ReportRun
from dashboards.pipeline import (
    archive,
    bronze,
    compaction,
    gold,
    locks,
    manifest,
    report_rows,
    runs,
    silver_days,
    sources,
)
from dashboards.pipeline.progress import watched
from dashboards.reports import Report, discover, quality
from dashboards.reports.errors import Cancelled, CannotRun, Overtaken, ReportError
from dashboards.spark import own_conf, session
from dashboards.spark.errors import ConfUnreadable, ConnectClientMissing
from dashboards.spark.idle import IDLE

KEEP_DAYS = 400


def perform(run_id: int) -> None:
    """Perform a requested run; nothing if it has ended or another process runs it."""
    with locks.attempted(run_id) as held:
        run = runs.take(run_id) if held else None
        if not run:
            return
        with quality.keep_results():
            try:
                with IDLE.in_use():
                    steps(run, discover()[run.report])
            except Exception as error:
                if runs.is_cancelled(run):
                    runs.end_cancelled(run)
                    raise Cancelled from error
                runs.stop(run, sentence(error), quality.results())
                raise


def steps(run: ReportRun, report: Report) -> None:
    archive.require()
    as_of = last_as_of(run)
    if as_of is None:
        as_of = bring_up_to_date(run, report)
        ReportRun.objects.filter(pk=run.pk).update(as_of=as_of)
    spark = started(run, report)
    runs.tell(run, 0.65, gettext_noop("Counting"))
    around = partial(within, run, spark, 0.65, 0.95)
    if report.is_by_day:
        rows = gold.bring_up_to_date(spark, run.pk, report, as_of, around)
        end(run, as_of, sources.last_window(), rows)
        return
    with around(0, 1):
        found = gold.answer(spark, report, run.parameters, as_of)
    with transaction.atomic():
        end(run, as_of, sources.last_window(), found.num_rows)
        report_rows.keep(run, report, found)


def last_as_of(run: ReportRun) -> datetime | None:
    """The time up to which silver is complete; None if silver must be updated.

    It must be updated unless a run did so after this run was requested.
    """
    fresh = ReportRun.objects.filter(as_of__gte=run.requested_at)
    found = fresh.aggregate(as_of=Max("as_of"))["as_of"]
    assert found is None or isinstance(found, datetime)
    return None if silver_days.stale() else found


def bring_up_to_date(run: ReportRun, report: Report) -> datetime:
    """Copy the journal, and build the days of silver that it changes."""
    runs.tell(run, 0.0, gettext_noop("Copying the journal to the archive"))
    as_of = bronze.export(lambda share: runs.go_on(run, 0.2 * share))
    spark = started(run, report)
    runs.tell(run, 0.25, gettext_noop("Following each message"))
    silver_days.bring_up_to_date(
        spark, run.pk, as_of, partial(within, run, spark, 0.25, 0.6)
    )
    runs.tell(run, 0.6, gettext_noop("Putting the archive in order"))
    compaction.keep_small(as_of, keep_days())
    return as_of


def within(
    run: ReportRun,
    spark: SparkSession,
    begin: float,
    end: float,
    done: float,
    will_be: float,
) -> AbstractContextManager[None]:
    """Spark's work for a run, as a part of the run's progress.

    ``begin`` and ``end`` are shares of the run; ``done`` and ``will_be`` are shares of
    the part between them.
    """
    part = end - begin
    return watched(spark, run, begin + part * done, begin + part * will_be)


def started(run: ReportRun, report: Report) -> SparkSession:
    """
    Raises:
        CannotRun: Spark cannot be started; a sentence for people.
    """
    runs.go_on(run, 0.2)
    runs.tell(run, 0.2, gettext_noop("Starting Spark"))
    try:
        own = own_conf.read(settings.BACKOUT_REPORTS_SPARK_CONF)
        events = manifest.rows_of(manifest.BRONZE, days_to_read(run, report))
        return session.spark(settings.VAR_DIR, own, events=events)
    except (ConfUnreadable, ConnectClientMissing) as error:
        raise CannotRun(str(error)) from error


def days_to_read(run: ReportRun, report: Report) -> set[date]:
    """The days of the journal that a run builds or counts."""
    days = set(silver_days.stale())
    if report.is_by_day:
        return days | set(gold.stale(report))
    span = gold.period(report.read(run.parameters), timezone.now().date())
    return days | {day for day in silver_days.windows() if day >= span.first}


def keep_days() -> int:
    return int(getattr(settings, "REPORTS_KEEP_DAYS", KEEP_DAYS))


def end(run: ReportRun, as_of: datetime, through: int, rows: int) -> None:
    """
    Raises:
        Overtaken: another process has ended the run.
    """
    ended = ReportRun.objects.filter(pk=run.pk, state=ReportRun.State.RUNNING).update(
        state=ReportRun.State.DONE,
        progress=1,
        ended_at=Now(),
        as_of=as_of,
        through=through,
        rows=rows,
        checks=quality.results(),
    )
    if not ended:
        raise Overtaken


def sentence(error: Exception) -> str:
    """Why a run stopped, for people."""
    if isinstance(error, ReportError):
        return str(error)
    return (
        f"The report stopped with an unexpected error, {type(error).__name__}."
        " Nothing was published. Read the log of the reports worker, then run it again."
    )
