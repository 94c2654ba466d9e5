"""Runs of reports that nobody takes: what is missing is said where people look."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from broker.acts import act
from broker.sql import database_now
from console.runtime import project
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Terminal
from dashboards.acts import RunReport
from dashboards.live import problems
from dashboards.models import ReportRun
from dashboards.pipeline import locks, unattended
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

PAGE = "/reports/throughput/"
INSTALL = "pip install &quot;backout[reports]&quot;"
START = "manage.py backout run reports"


@pytest.fixture
def omar(client: Client) -> User:
    rights = ("dashboards.view_report", "dashboards.run_report")
    user = make_user("omar", permissions=rights)
    client.force_login(user)
    return user


@pytest.fixture
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of ``backout[console]``."""
    monkeypatch.setattr(unattended, "PACKAGES", ("pyarrow", "no_such_package"))


def requested(user: User, *, ago: timedelta = timedelta()) -> ReportRun:
    run = act(user, RunReport("throughput"))
    ReportRun.objects.filter(pk=run.id).update(requested_at=database_now() - ago)
    return ReportRun.objects.get(pk=run.id)


@pytest.mark.usefixtures("_without_spark")
def test_what_is_not_installed_is_said_before_anybody_waits(
    omar: User, client: Client
) -> None:
    for page in ("/reports/", PAGE):
        text = client.get(page).content.decode()
        assert "Reports cannot run here: no-such-package is not installed." in text
        assert INSTALL in text
    assert problems.of("reports_unattended") == []  # nobody wants a report


@pytest.mark.usefixtures("_without_spark")
def test_health_and_the_waiting_run_say_the_command_that_installs_it(
    omar: User, client: Client
) -> None:
    run = requested(omar)

    assert INSTALL in client.get(PAGE).content.decode()
    assert INSTALL in client.get(f"{PAGE}run/?run={run.pk}").content.decode()
    (found,) = problems.of("reports_unattended")
    assert 'pip install "backout[reports]"' in found.remedy
    omar.user_permissions.clear()
    looking = make_user("vera", permissions=("broker.view_queue",))
    client.force_login(looking)
    assert "no-such-package" in client.get("/health/").content.decode()


def test_a_run_that_no_worker_takes_says_how_to_start_one(
    omar: User, client: Client
) -> None:
    requested(omar, ago=timedelta(seconds=50))
    assert START not in client.get(PAGE).content.decode()

    ReportRun.objects.update(requested_at=database_now() - timedelta(minutes=2))
    assert START in client.get(PAGE).content.decode()
    (found,) = problems.of("reports_unattended")
    assert found.text == "No reports worker takes the runs that wait."


def test_behind_a_run_that_goes_on_others_may_wait(omar: User) -> None:
    run = requested(omar, ago=timedelta(hours=1))
    ReportRun.objects.create(report="debt", state=ReportRun.State.RUNNING)
    running = ReportRun.objects.get(report="debt")
    with locks.attempted(running.pk) as held:
        assert held
        assert unattended.look() is None
    assert unattended.look() == unattended.NO_WORKER  # that one has died
    assert run.state == ReportRun.State.WAITING


@pytest.mark.usefixtures("_without_spark")
def test_another_machine_may_have_what_this_one_lacks(omar: User) -> None:
    ReportRun.objects.create(
        report="debt", state=ReportRun.State.DONE, started_at=database_now()
    )
    requested(omar)
    assert unattended.look() is None


def test_without_celery_that_is_what_is_missing(omar: User, settings: Settings) -> None:
    settings.BACKOUT_CELERY_APP = ""
    requested(omar)
    assert unattended.waiting() == unattended.NO_CELERY


@pytest.mark.usefixtures("_without_spark")
def test_the_start_says_why_it_has_no_reports_worker() -> None:
    said = StringIO()
    project.say_what_is_missing(Terminal(said, ["worker"]))
    assert 'pip install "backout[reports]"' in said.getvalue()

    assert "reports" not in project.commands("127.0.0.1", 8000)
    with pytest.raises(CannotStart, match="no-such-package is not installed"):
        project.run(["reports"], web=False, host="127.0.0.1", port=8000)
