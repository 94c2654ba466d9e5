"""When reports run: as people say it, and as an administrator sets it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from broker.models import Act, AuditRecord
from console.accounts import roles
from dashboards import tasks
from dashboards.models import ReportRun
from dashboards.pages import schedules
from dashboards.reports import discover
from tests.dashboards.pages.sample_report import SAID, known
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

ADD = "/admin/django_celery_beat/periodictask/add/"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch)


@pytest.fixture
def ada(client: Client) -> User:
    user = make_user("ada", permissions=tuple(roles.ROLES["administrator"]))
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    client.force_login(user)
    return user


def weekly() -> CrontabSchedule:
    return CrontabSchedule.objects.create(
        minute="30", hour="6", day_of_week="1", timezone="UTC"
    )


def said(**fields: Any) -> dict[str, Any]:
    about = {"name": "Mondays", "enabled": "on", "report": "what-if"}
    return about | {"said": "", "crontab": weekly().pk, "description": ""} | fields


def test_every_report_runs_each_night_without_other_word() -> None:
    (night,) = schedules.every()
    assert (night.slug, night.words) == ("", "every day at 01:10 UTC")
    assert night.next_at.strftime("%H:%M") == "01:10"
    assert timedelta(0) < night.next_at - timezone.now() <= timedelta(days=1)
    assert schedules.of(discover()["dead-letters"], [night]) == [night]
    assert schedules.of(discover()["rule-backtest"], [night]) == []


def test_an_administrator_says_when_a_report_runs(ada: User, client: Client) -> None:
    page = client.get(ADD).content.decode()
    assert "what-if" in page
    assert "every nightly report" in page
    assert "What if: attempts=5, factor=1.5, since=2026-03-01" in page, (
        "what one may say"
    )

    answer = client.post(ADD, said(said="attempts=9\nmode = growing"))

    assert answer.status_code == 302
    one = next(one for one in schedules.every() if one.slug)
    assert one.slug == "what-if"
    assert one.parameters == {"attempts": "9", "mode": "growing"}
    assert one.next_at.strftime("%a %H:%M") == "Mon 06:30"
    record = AuditRecord.objects.get(act=Act.CREATE)
    assert record.actor == "ada"

    change = ADD.replace("add", f"{one.pk}/change")
    assert "attempts=9" in client.get(change).content.decode()
    client.post(change, said(name="Mondays", enabled="", crontab=weekly().pk))
    assert not [one for one in schedules.every() if one.slug]
    assert AuditRecord.objects.filter(act=Act.CHANGE).exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"said": "attempts"}, "There is no = in"),
        ({"said": "attempts=51"}, "Attempts is at most 50."),
        ({"said": "weather=1"}, "There is no parameter weather."),
        ({"said": "a=1", "report": ""}, "Choose the report"),
        ({"crontab": ""}, "This field is required."),
        ({"report": "<script>"}, "Select a valid choice."),
    ],
)
def test_what_is_wrong_is_said(
    ada: User, client: Client, fields: dict[str, str], told: str
) -> None:
    before = PeriodicTask.objects.count()
    page = client.post(ADD, said(**fields)).content.decode()
    assert told in page
    assert PeriodicTask.objects.count() == before


def test_an_administrator_does_not_change_what_the_code_runs(
    ada: User, client: Client
) -> None:
    one = PeriodicTask.objects.exclude(task=schedules.TASK).first()
    assert one is not None
    url = ADD.replace("add", f"{one.pk}/change")
    assert client.post(url, {"name": "x"}).status_code == 403
    assert client.get(url).status_code == 200
    assert client.post(ADD.replace("add", f"{one.pk}/delete")).status_code == 403


def test_the_clock_asks_for_what_is_scheduled() -> None:
    tasks.ask_for_reports(slug="what-if", parameters={"attempts": "9"})
    run = ReportRun.objects.get()
    assert (run.report, run.parameters) == ("what-if", SAID | {"attempts": 9})
    assert run.requested_by is None

    tasks.ask_for_reports()
    assert ReportRun.objects.filter(report="dead-letters").count() == 1


def test_pages_say_when_and_lead_to_it(ada: User, client: Client) -> None:
    page = client.get("/reports/dead-letters/").content.decode()
    assert "It runs every day at 01:10 UTC" in page
    assert 'href="/admin/django_celery_beat/periodictask/"' in page
    PeriodicTask.objects.filter(task=schedules.TASK).update(enabled=False)
    assert "It does not run by itself." in (
        client.get("/reports/dead-letters/").content.decode()
    )
    assert "not scheduled" in client.get("/reports/").content.decode()


def test_arguments_that_are_no_json_do_not_stop_pages() -> None:
    PeriodicTask.objects.filter(task=schedules.TASK).update(kwargs="{")
    (one,) = schedules.every()
    assert one.slug == ""
