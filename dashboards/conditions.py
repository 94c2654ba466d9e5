"""What can be wrong here: reports of the night that are not done in the morning, and
runs that no process takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Max, Min
from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.problems.problem import Bound, Condition, Name, Problem
from broker.problems.readings import Readings
from dashboards.models import ReportRun
from dashboards.pages import schedules
from dashboards.pipeline import unattended
from dashboards.reports import discover

DAY = timedelta(days=1)
NAMED = 5  # the most reports that one sentence names


ONE_LATE = (
    gettext_noop("%(n)s report"),
    gettext_noop("%(reports)s of the night is not done: %(names)s."),
)
MANY_LATE = (
    gettext_noop("%(n)s reports"),
    gettext_noop("%(reports)s of the night are not done: %(names)s."),
)


def late(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """One problem for all reports that are late."""
    if missing := not_done(seen.now):
        reports = discover()
        titles = [reports[slug].title for slug in missing if slug in reports]
        names = ", ".join(titles[:NAMED]) + (", …" if len(titles) > NAMED else "")
        many = len(missing)
        name, text = MANY_LATE if many > 1 else ONE_LATE
        name = say(name, n=many)
        text = say(text, reports=name, names=names)
        yield Problem("reports", text, many, is_urgent=False, name=name)


def untaken(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Runs that no process takes. At most five queries."""
    if found := unattended.waiting():
        remedy = f"{found.remedy} {found.command}"
        yield Problem(
            "Reports", found.sentence, is_urgent=False, code="reports-wait",
            remedy=remedy,
        )  # fmt: skip


def not_done(now: datetime) -> list[str]:
    """The slugs of reports that were due in the 24 hours before the last
    ``BACKOUT_REPORTS_DUE_HOUR``, and that have not succeeded since they were due."""
    # The console defines both settings that are read here. Without it no report runs.
    hour = getattr(settings, "BACKOUT_REPORTS_DUE_HOUR", -1)
    if hour < 0 or not settings.BACKOUT_CELERY_APP:
        return []
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    until = midnight + timedelta(hours=hour % 24)
    until -= DAY if until > now else timedelta(0)
    begin = max(until - DAY, installed_at() or until)
    due = schedules.due(begin, until)
    done = ReportRun.objects.filter(report__in=due, state=ReportRun.State.DONE)
    last = done.values_list("report").annotate(at=Max("ended_at"))
    ended = {slug: at for slug, at in last.order_by() if at}
    return sorted(slug for slug, at in due.items() if ended.get(slug, begin) < at)


def installed_at() -> datetime | None:
    """When the tables of reports were created: no report was due before."""
    applied = MigrationRecorder.Migration.objects.filter(app="dashboards")
    at = applied.aggregate(at=Min("applied"))["at"]
    assert at is None or isinstance(at, datetime)
    return at


CONDITIONS = [
    Condition(Name.REPORTS, gettext_noop("reports late"), late, "reports",
        gettext_noop("reports of the night are not done in the morning"),
        gettext_noop(
            "See on their pages whether their runs failed, and run them again."
        )),
    Condition(Name.UNATTENDED, gettext_noop("reports wait"), untaken, "health",
        gettext_noop("no worker runs the reports that wait"),
        gettext_noop("Start a process that runs reports.")),
]  # fmt: skip
