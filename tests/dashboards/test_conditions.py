"""Reports that are not there in the morning are found by alerts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django_celery_beat.models import PeriodicTask
from pytest_django import Settings

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule
from dashboards.models import ReportRun
from dashboards.pages.schedules import TASK
from dashboards.reports import nightly

migration = import_module("broker.migrations.0011_reports_may_be_late")
pytestmark = pytest.mark.django_db
MORNING = datetime(2027, 3, 2, 6, tzinfo=UTC)  # the reports are due at 01:10
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def _rule() -> None:
    """The one that a migration creates, alone."""
    AlertRule.objects.all().delete()
    with connection.schema_editor() as editor:
        migration.fill(apps, editor)


def done(slug: str, at: datetime) -> None:
    ReportRun.objects.create(report=slug, state=ReportRun.State.DONE, ended_at=at)


def firing(now: datetime) -> list[str]:
    """The alerts that fire when the rule's duration has passed after a time."""
    evaluate(now=now)
    evaluate(now=now + HOUR / 4)
    found = Alert.objects.filter(state=Alert.State.FIRING)
    return list(found.values_list("text", flat=True))


def test_reports_that_are_not_done_at_six_fire() -> None:
    for slug in nightly():
        done(slug, MORNING - DAY)
    first, *others = nightly()

    assert firing(MORNING - HOUR) == []  # still yesterday's, which were done

    for slug in others:
        done(slug, MORNING - HOUR)
    [text] = firing(MORNING)
    assert text.startswith("1 report of the night is not done: ")

    done(first, MORNING + HOUR)
    evaluate(now=MORNING + HOUR)
    assert Alert.objects.get().state == Alert.State.RESOLVED


def test_a_run_that_stopped_is_not_done() -> None:
    ReportRun.objects.create(
        report="debt", state=ReportRun.State.STOPPED, ended_at=MORNING - HOUR
    )

    assert len(firing(MORNING)) == 1


def test_the_hour_is_a_setting(settings: Settings) -> None:
    settings.BACKOUT_REPORTS_DUE_HOUR = 9
    for slug in nightly():
        done(slug, MORNING - DAY)

    assert firing(MORNING) == []
    assert len(firing(MORNING + 3 * HOUR)) == 1


@pytest.mark.parametrize("how", ["hour", "celery", "schedule", "weekly", "new"])
def test_nothing_is_late_where_nothing_was_due(how: str, settings: Settings) -> None:
    scheduled = PeriodicTask.objects.filter(task=TASK)
    match how:
        case "hour":
            settings.BACKOUT_REPORTS_DUE_HOUR = -1
        case "celery":
            settings.BACKOUT_CELERY_APP = ""
        case "schedule":
            scheduled.update(enabled=False)
        case "weekly":  # on another day
            crontab = scheduled.get().crontab
            crontab.day_of_week = str((MORNING.isoweekday() + 1) % 7)
            crontab.save()
        case "new":
            MigrationRecorder.Migration.objects.update(applied=MORNING - HOUR)

    assert firing(MORNING) == []
