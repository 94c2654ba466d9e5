"""Schedules of reports in Celery beat, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from dashboards.reports import Report, discover, nightly

if TYPE_CHECKING:
    from django_celery_beat.models import PeriodicTask

TASK = "dashboards.tasks.ask_for_reports"
WHEN = gettext_noop(
    "Minutes, hours, days of the month, months and days of the week: 10 1 * * * is each"
    " night at 01:10."
)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One schedule: a report, or all nightly ones, and the next run."""

    pk: int
    name: str
    slug: str  # empty: every nightly report
    parameters: dict[str, Any]
    words: str  # the schedule as text
    next_at: datetime

    @property
    def with_parameters(self) -> str:
        """The parameters as text."""
        return ", ".join(f"{name}: {one}" for name, one in self.parameters.items())


def every() -> list[Scheduled]:
    """All schedules that run reports, the next one first."""
    if not apps.is_installed("django_celery_beat"):
        return []
    return sorted(entries(), key=lambda one: one.next_at)


def entries() -> Iterator[Scheduled]:
    now = timezone.now()
    about = ("crontab", "interval", "solar", "clocked")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    listed = periodic.objects.filter(task=TASK, enabled=True)
    for one in listed.select_related(*about):
        if one.schedule is None:
            continue
        said = kwargs_of(one)
        last = one.last_run_at if one.interval else now
        left = one.schedule.remaining_estimate(last or now)
        about_then = timezone.now() + left + timedelta(seconds=0.5)
        yield Scheduled(
            one.pk,
            one.name,
            str(said.get("slug") or ""),
            said.get("parameters") or {},
            words(one),
            about_then.replace(microsecond=0),
        )


def due(begin: datetime, end: datetime) -> dict[str, datetime]:
    """When each report was first due by a crontab in a period, by slug."""
    if not apps.is_installed("django_celery_beat"):
        return {}
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    listed = periodic.objects.filter(task=TASK, enabled=True, crontab__isnull=False)
    found: dict[str, datetime] = {}
    for one in listed.select_related("crontab"):
        start, left, _ = one.schedule.remaining_delta(begin)
        if (first := start + left) <= end:
            slug = str(kwargs_of(one).get("slug") or "")
            for name in [slug] if slug else nightly():
                found[name] = min(first, found.get(name, first))
    return found


def of(about: Report, known: list[Scheduled]) -> list[Scheduled]:
    """The schedules that run this report."""
    slugs = {about.slug, ""} if about.nightly else {about.slug}
    return [one for one in known if one.slug in slugs]


def kwargs_of(one: PeriodicTask) -> dict[str, Any]:
    """The arguments of a task; empty if not valid JSON."""
    try:
        said = json.loads(one.kwargs or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def check_arguments(slug: str, parameters: Mapping[str, Any]) -> None:
    """Check the report of a schedule, and its parameters.

    Raises:
        ValueError: there is none, or they are not its own; a sentence for people.
    """
    if not slug and parameters:
        raise ValueError("Choose the report that has these parameters.")
    if slug and slug not in discover():
        raise ValueError(f"There is no report {slug!r}.")
    if slug:
        discover()[slug].read(parameters)


def words(one: PeriodicTask) -> str:
    crontab = one.crontab
    if crontab is None:
        return str(one.schedule and one.scheduler)
    is_daily = (crontab.day_of_month, crontab.month_of_year, crontab.day_of_week)
    plain = crontab.minute.isdecimal() and crontab.hour.isdecimal()
    if plain and set(is_daily) == {"*"}:
        at = f"{int(crontab.hour):02}:{int(crontab.minute):02}"
        daily = gettext("every day at %(time)s %(zone)s")
        return daily % {"time": at, "zone": crontab.timezone}
    return str(crontab.human_readable)
