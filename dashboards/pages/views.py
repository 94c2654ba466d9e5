"""Views of reports: the last result, and the progress of the present run.

They read PostgreSQL only; Spark runs in the reports worker. One page serves every
report; the report's declaration defines its content.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)
from django_htmx.http import HttpResponseClientRefresh

from broker import acts
from dashboards.acts import CancelRun, RunReport, visible_runs
from dashboards.models import ReportRun
from dashboards.pages import (
    cells,
    chart_series,
    results,
    run_requests,
    samples,
    schedules,
    streaming,
    wording,
)
from dashboards.pages import export as exports
from dashboards.pages.results import PERIODS, ResultsQuery
from dashboards.pipeline import runs, unattended
from dashboards.reports import Report, discover
from dashboards.reports.errors import FileLost

PAGE = 100  # rows on a page
HISTORY = 20  # the most runs in the history of a report
# If a report has at most so many parameters, also those with default values are shown.
FEW = 3
SAID = "said"  # attribute of a run: its parameters in words

may_view = permission_required("dashboards.view_report", raise_exception=True)


@require_safe
@may_view
def reports(request: HttpRequest) -> HttpResponse:
    """Every report, its last run and the next one."""
    known_to_run = schedules.every()
    listed = []
    titled = map(wording.titled, discover().values())
    for about in sorted(titled, key=lambda one: one.title):
        next_runs = schedules.of(about, known_to_run)
        row = status(about, request.user)
        listed.append(row | {"next": next_runs[0] if next_runs else None})
    context = {"listed": listed, "unattended": unattended.look()}
    return render(request, "dashboards/reports.html", context)


@require_safe
@may_view
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """A report's rows that the user may see."""
    about = known(slug)
    return render_report(request, about)


def render_report(
    request: HttpRequest, about: Report, form: run_requests.ParametersForm | None = None
) -> HttpResponse:
    wanted = translated_results(requested_results(request, about))
    seen = visible_runs(request.user, about)
    asked = None
    if wanted.run is not None and "run" in request.GET:
        asked = seen.filter(pk=wanted.run).first()
    unreadable = ""
    try:
        content = table(request, wanted)
    except FileLost as error:
        # A file of minutes is lost, so hours are shown: they are in the database.
        by_hour = replace(wanted, report=about.by_hour, is_by_minute=False)
        wanted, unreadable = translated_results(by_hour), str(error)
        content = table(request, wanted)
    start = asked.parameters if asked else {}
    state = status(about, request.user, asked)
    is_new = state["done"] is None and not wanted.queue
    is_active = state["run"] and state["run"].is_active
    checked = state["done"] if is_active else state["run"]
    context = {
        "checked": checked,
        "checks": results.visible_checks(request.user, checked),
        "wanted": wanted,
        "sample": samples.sample_of(about) if is_new else {},
        "unreadable": unreadable,
        "periods": PERIODS,
        "form": form or run_requests.ParametersForm(about, request.user, start=start),
        "asked": asked,
        "history": history(about, seen, asked),
        "schedules": schedules.of(about, schedules.every()),
        "may_see_some": results.may_see_some(request.user, about),
        "has_notes": any(one.note for one in about.columns),
        "has_minutes": about.is_of_minutes,
        "has_queues": bool(results.queue_columns(about)),
        "query": query_of(request),
        "most": exports.MOST,
        "unattended": unattended.look(),
    }
    status_code = 422 if form and form.errors else 200
    return render(
        request,
        "dashboards/report.html",
        context | state | content,
        status=status_code,
    )


def table(request: HttpRequest, wanted: ResultsQuery) -> dict[str, Any]:
    """A page of rows, charts and sums of all rows.

    Raises:
        FileLost: minutes are asked for, and a day has no file.
    """
    about = wanted.report
    rows = results.found(request.user, wanted)
    ordered: Any = results.in_order(rows, wanted)
    page = Paginator(ordered, PAGE).get_page(request.GET.get("page"))
    listed = [cells.cells_of(about, row) for row in page.object_list]
    sums = results.sums(rows, about) if listed else {}
    return {
        "report": about,
        "page": page,
        "rows": listed,
        "drawings": chart_series.drawings(rows, wanted, chart_series.points_of)
        if listed
        else [],
        "sums": [(one, sums.get(one.name)) for one in about.columns],
        "has_sums": bool(sums) and page.paginator.count > 1,
    }


def history(about: Report, seen: Any, asked: ReportRun | None) -> list[ReportRun]:
    """The last runs. If a run is shown, only runs with the same parameters."""
    same = seen.filter(parameters=asked.parameters) if asked else seen
    listed = list(same[:HISTORY])
    for one in listed:
        setattr(one, SAID, in_words(about, one))
    return listed


def in_words(about: Report, one: ReportRun) -> str:
    """The parameters of a run as text. Of many, only those that are not defaults."""
    said = [(named, one.parameters.get(named.name)) for named in about.parameters]
    if len(said) > FEW:
        usual = {named.name: str(named.default) for named in about.parameters}
        said = [(n, value) for n, value in said if str(value) != usual[n.name]]
    words = [
        f"{gettext(n.title)}: {gettext(value) if n.choices else value}"
        for n, value in said
        if value not in ("", None)
    ]
    return ", ".join(words) or gettext("as usual")


@require_http_methods(["GET", "HEAD", "POST"])
def run(request: HttpRequest, slug: str) -> HttpResponse:
    """The progress of the present run, or a new run."""
    return (run_now if request.method == "POST" else progress)(request, slug)


@may_view
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """The progress of the present run; when it has ended, the page reloads."""
    about = known(slug)
    asked = results.number(request.GET.get("run", ""))
    seen = visible_runs(request.user, about)
    one = seen.filter(pk=asked).first() if asked else None
    context = status(about, request.user, one)
    if not context["run"] or not context["run"].is_active or context["has_died"]:
        return HttpResponseClientRefresh()
    context["unattended"] = unattended.look()
    return render(request, "dashboards/_run_again.html", context)


def run_now(request: HttpRequest, slug: str) -> HttpResponse:
    """Request a run, or show the run that waits or is running already."""
    acts.require(request.user, RunReport(slug))
    about = known(slug)
    form = run_requests.ParametersForm(about, request.user, request.POST)
    if not form.is_valid():
        return render_report(request, about, form)
    made = acts.act(request.user, RunReport(slug, form.cleaned_data))
    return redirect(page_of(about, made.id))


@require_POST
def cancel(request: HttpRequest, slug: str, run_id: int) -> HttpResponse:
    """Request a cancel of a run."""
    acts.act(request.user, CancelRun(slug, run_id))
    return redirect(page_of(known(slug), run_id))


@require_safe
@may_view
def export(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The rows of the page as a file."""
    about = known(slug)
    wanted = requested_results(request, about)
    kind = request.GET.get("format", "csv")
    if kind not in exports.TYPES:
        return redirect(page_of(about))
    done = exports.run_of(about, wanted)
    rows = results.found(request.user, wanted)
    headers = exports.headers(kind, about, timezone.now())
    try:
        content = exports.write(kind, rows, wanted, done)
    except FileLost:  # the page says that the file is lost
        return redirect(f"{page_of(about)}?{query_of(request)}")
    return streaming.streamed(request, content, headers)


def requested_results(request: HttpRequest, about: Report) -> ResultsQuery:
    """The query of the URL; for a report with parameters, the last successful run by
    default.
    """
    said: dict[str, str] = request.GET.dict()
    if about.is_by_day:
        said.pop("run", None)
    elif not results.number(said.get("run", "")):
        seen = visible_runs(request.user, about)
        last = seen.filter(state=ReportRun.State.DONE).first()
        said["run"] = str(last.pk) if last else ""
    return ResultsQuery.of(about, said)


def translated_results(wanted: ResultsQuery) -> ResultsQuery:
    """The query with its report in the language of the page."""
    return replace(wanted, report=wording.translated(wanted.report))


def page_of(about: Report, run_id: int | None = None) -> str:
    """The page of a report; of one with parameters, with this run."""
    page = reverse("dashboards:report", kwargs={"slug": about.slug})
    return f"{page}?run={run_id}" if run_id and not about.is_by_day else page


def query_of(request: HttpRequest) -> str:
    """The URL's query without its page number, for links."""
    said = {name: one for name, one in request.GET.items() if name != "page"}
    return urlencode(said)


def known(slug: str) -> Report:
    try:
        return discover()[slug]
    except KeyError:
        raise Http404(f"There is no report {slug}.") from None


def status(about: Report, user: Any, asked: ReportRun | None = None) -> dict[str, Any]:
    """A report, its last run, and the last run that succeeded."""
    seen = visible_runs(user, about)
    last = asked or seen.first()
    done = last
    if last and last.state != ReportRun.State.DONE:
        ended = seen.filter(state=ReportRun.State.DONE)
        same = ended.filter(parameters=last.parameters) if asked else ended
        done = same.first()
    return {
        "report": about,
        "run": last,
        "done": done,
        "has_died": bool(last and runs.has_died(last)),
    }
