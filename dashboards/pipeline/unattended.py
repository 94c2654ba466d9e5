"""Whether a process takes the runs of reports, and what is missing where none does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec

from django.conf import settings
from django.db.models import Min, QuerySet
from django.utils.translation import gettext, gettext_noop, ngettext

from broker.sql import database_now
from dashboards.models import ReportRun
from dashboards.pipeline import runs

# Packages that the extra ``reports`` installs and that a run imports.
PACKAGES = ("pyspark", "pyarrow", "adbc_driver_postgresql")
INSTALL = 'pip install "backout[reports]"'
START = "manage.py backout run reports"
LATE_AFTER = timedelta(minutes=1)
# If a process takes runs, one has started in this time, because reports run each night.
RECENT = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why no run can be taken."""

    sentence: str
    remedy: str
    command: str  # for a shell; the first step of the remedy
    packages: tuple[str, ...] = ()  # that are not installed

    @property
    def translation(self) -> str:
        """The sentence in the language of the page."""
        if not self.packages:
            return gettext(self.sentence)
        return ngettext(
            "Reports cannot run here: %(packages)s is not installed.",
            "Reports cannot run here: %(packages)s are not installed.",
            len(self.packages),
        ) % {"packages": ", ".join(self.packages)}


NO_CELERY = Missing(
    gettext_noop("Reports cannot run: there is no application of Celery."),
    gettext_noop(
        "Set BACKOUT_CELERY_APP, start the processes again, and start the reports"
        " worker:"
    ),
    START,
)
NO_WORKER = Missing(
    gettext_noop("No reports worker takes the runs that wait."),
    gettext_noop(
        "Start it; if Redis lost its data since, cancel the runs and request them"
        " again:"
    ),
    START,
)


def missing_here() -> Missing | None:
    """What this installation lacks to run reports; None if it has all."""
    if not settings.BACKOUT_CELERY_APP:
        return NO_CELERY
    names = tuple(one.replace("_", "-") for one in PACKAGES if find_spec(one) is None)
    if not names:
        return None
    are = "is" if len(names) == 1 else "are"
    return Missing(
        f"Reports cannot run here: {', '.join(names)} {are} not installed.",
        gettext_noop("Install the reports, then start the processes again:"),
        INSTALL,
        names,
    )


def look(now: datetime | None = None) -> Missing | None:
    """Why runs of reports are not taken; None where they are. At most four queries.

    Another machine may have what this one lacks: there, runs have started recently.
    """
    now = now or database_now()
    if any(not runs.has_died(one) for one in of(ReportRun.State.RUNNING)):
        return None
    since = of(ReportRun.State.WAITING).aggregate(since=Min("requested_at"))["since"]
    if since and now - since >= LATE_AFTER:
        return missing_here() or NO_WORKER
    recent = ReportRun.objects.filter(started_at__gte=now - RECENT)
    return None if recent.exists() else missing_here()


def waiting(now: datetime | None = None) -> Missing | None:
    """As ``look`` if a run waits; otherwise None."""
    return look(now) if of(ReportRun.State.WAITING).exists() else None


def of(state: ReportRun.State) -> QuerySet[ReportRun]:
    return ReportRun.objects.filter(state=state)
