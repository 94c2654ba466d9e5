"""Pages of reports: what the last run found, and how far the present one is.

Reads tables of PostgreSQL only; Spark is far away, in the reports worker.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.db.models import BigIntegerField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from broker import authorities
from dashboards.models import ReportRow, ReportRun, cause_word
from dashboards.reports import Report, bars, discover, runs

PERIODS = (7, 30, 90)  # days
ROWS = 500

Days = QuerySet[ReportRow]

may_view = permission_required("dashboards.view_report", raise_exception=True)


@require_safe
@may_view
def reports(request: HttpRequest) -> HttpResponse:
    """Every report, and its last run."""
    listed = [status(about) for _, about in sorted(discover().items())]
    return render(request, "dashboards/reports.html", {"listed": listed})


@require_safe
@may_view
def dead_letters(request: HttpRequest, slug: str) -> HttpResponse:
    """What died on which queue of what, for some days up to today (UTC)."""
    period = chosen_period(request)
    today = timezone.now().date()
    days = [today - timedelta(days=back) for back in range(period - 1, -1, -1)]
    rows = seen_by(request.user, slug).filter(day__range=(days[0], today))
    if queue := request.GET.get("queue", ""):
        rows = rows.filter(cells__queue=queue)
    context = {"period": period, "periods": PERIODS, "queue": queue}
    return render(
        request,
        "dashboards/dead_letters.html",
        context | status(known(slug)) | table(rows) | chart(rows, days),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@may_view
def run(request: HttpRequest, slug: str) -> HttpResponse:
    """GET: how far the present run is; once it has ended, the page is read again."""
    about = known(slug)
    if request.method == "POST":
        return run_now(request, about)
    context = status(about)
    if not context["run"] or not context["run"].is_active or context["has_died"]:
        return HttpResponseClientRefresh()
    return render(request, "dashboards/_run.html", context)


@permission_required("dashboards.run_report", raise_exception=True)
def run_now(request: HttpRequest, about: Report) -> HttpResponse:
    """Ask for a run, or join the one that waits or is running."""
    runs.send(runs.ask_for(about.slug, request.user))
    try:
        page = reverse("dashboards:report", kwargs={"slug": about.slug})
    except NoReverseMatch:  # it has none of its own
        page = reverse("dashboards:reports")
    return redirect(page)


def known(slug: str) -> Report:
    try:
        return discover()[slug]
    except KeyError:
        raise Http404(f"There is no report {slug}.") from None


def status(about: Report) -> dict[str, Any]:
    """A report, its last run, and the last run that came to its end."""
    of_report = ReportRun.objects.filter(report=about.slug)
    last = of_report.first()
    done = last
    if last and last.state != ReportRun.State.DONE:
        done = of_report.filter(state=ReportRun.State.DONE).first()
    return {
        "report": about,
        "run": last,
        "done": done,
        "has_died": bool(last and runs.has_died(last)),
    }


def seen_by(user: authorities.Principal, slug: str) -> Days:
    """The rows of queues that somebody may inquire, also of queues that are gone."""
    every = ReportRow.objects.filter(report=slug, day__isnull=False)
    held = authorities.held_by(user)
    if held.everywhere("inquire"):
        return every
    names = every.order_by().values_list("cells__queue", flat=True).distinct()
    seen = [one for one in names if held.on("inquire", one)]
    return every.filter(cells__queue__in=seen)


def chosen_period(request: HttpRequest) -> int:
    asked = request.GET.get("days", "")
    return int(asked) if asked in map(str, PERIODS) else 30


@dataclass(frozen=True)
class DeadLetterDay:
    """What one queue lost to one cause on one day (UTC)."""

    day: date
    queue: str  # its name when the event was archived
    cause_word: str
    dead_letters: int
    last_at: datetime


def table(rows: Days) -> dict[str, Any]:
    """The newest rows, and whether there are more."""
    order = ("-day", "cells__queue", "cells__cause")
    found = rows.order_by(*order).values_list("day", "cells")[: ROWS + 1]
    shown = [
        DeadLetterDay(
            day,
            cells["queue"],
            cause_word(cells["cause"]),
            cells["dead_letters"],
            datetime.fromisoformat(cells["last_at"]),
        )
        for day, cells in found
        if day
    ]
    return {"rows": shown[:ROWS], "has_more": len(shown) > ROWS}


def chart(rows: Days, days: list[date]) -> dict[str, Any]:
    """Bars by day, and the causes in them with their totals, commonest first."""
    sums = (
        rows.order_by("day", "cells__cause")
        .values_list("day", "cells__cause")
        .annotate(dead=Sum(Cast(KT("cells__dead_letters"), BigIntegerField())))
    )
    counts = {(day, cause): int(count) for day, cause, count in sums}
    totals: Counter[str] = Counter()
    for (_, cause), count in counts.items():
        totals[cause] += count
    order = sorted(totals, key=lambda cause: (-totals[cause], cause))
    words = {cause: cause_word(cause) for cause in order}
    return {
        "bars": bars.stack(counts, days, words),
        "causes": [(cause, words[cause], totals[cause]) for cause in order],
        "total": totals.total(),
    }
