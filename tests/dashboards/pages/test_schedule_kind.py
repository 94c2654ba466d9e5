"""Schedules of reports as declarations."""

from __future__ import annotations

import pytest
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from broker.declarations import apply, export, plan, read
from broker.errors.settings import WrongSettings
from dashboards.pages import schedules
from dashboards.pages.schedule_kind import SCHEDULE
from tests.dashboards.pages.sample_report import known

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]
DOCUMENT = """\
[report_schedules.Mondays]
report = "what-if"
parameters = {attempts = 9, mode = "growing"}
crontab = "30 6 * * 1"
time_zone = "Europe/Berlin"
"""


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch)
    PeriodicTask.objects.filter(task=schedules.TASK).delete()


def make(text: str) -> list[str]:
    """Apply a document, and return its changes."""
    wanted = plan(read(text, [SCHEDULE])[0])
    apply(wanted)
    return [str(one) for one in wanted.changes]


def test_one_is_made_as_declared_once_and_written_again() -> None:
    assert make(DOCUMENT) == ["create report_schedule Mondays"]
    assert make(DOCUMENT) == []
    assert export([SCHEDULE]) == DOCUMENT
    (one,) = schedules.every()
    assert (one.slug, one.parameters) == ("what-if", {"attempts": 9, "mode": "growing"})
    assert one.words == "At 06:30 AM, only on Monday Europe/Berlin"


def test_its_time_is_changed_and_two_may_have_the_same() -> None:
    make(DOCUMENT)
    before = CrontabSchedule.objects.count()

    make('[report_schedules.Mondays]\ntime_zone = "UTC"\n')
    make('[report_schedules.nightly]\ncrontab = "30 6 * * 1"\nenabled = false\n')

    assert CrontabSchedule.objects.count() == before + 1
    assert [one.words for one in schedules.every()] == [
        "At 06:30 AM, only on Monday UTC"
    ]


def test_entries_for_other_tasks_are_none() -> None:
    other = PeriodicTask.objects.exclude(task=schedules.TASK).first()
    assert other is not None

    assert make(f'[report_schedules."{other.name}"]\nabsent = true\n') == []
    with pytest.raises(WrongSettings, match="name of another scheduled task"):
        make(f'[report_schedules."{other.name}"]\ncrontab = "30 6 * * 1"\n')
    assert other.name not in export([SCHEDULE])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DOCUMENT.replace("attempts = 9", "attempts = 51"), "Attempts is at most 50"),
        (DOCUMENT.replace("what-if", "weather"), "There is no report 'weather'"),
        (DOCUMENT.replace('report = "what-if"\n', ""), "Choose the report that has"),
        (DOCUMENT.replace("30 6", "6"), "crontab: Give its five parts"),
        (DOCUMENT.replace("30 6", "99 6"), "crontab: .*99"),
        (DOCUMENT.replace("Berlin", "Mars"), "time_zone: .*Europe/Mars"),
        (DOCUMENT.replace("crontab", "# crontab"), "crontab: Give its five parts"),
    ],
)
def test_what_is_wrong_is_refused(text: str, why: str) -> None:
    with pytest.raises(WrongSettings, match=f"(?is){why}"):
        make(text)
    assert not schedules.every()
