"""The sample of each report, until it has run."""

from __future__ import annotations

from collections import Counter

import pytest
from django.test import Client
from django.utils import timezone

from dashboards.models import ReportRow, ReportRun
from dashboards.pages import chart_series, samples
from dashboards.pages.results import ResultsQuery, found
from dashboards.reports import Report, discover
from tests.make import make_user

ALL = pytest.mark.parametrize("report", discover().values(), ids=lambda one: one.slug)
DEAD = discover()["dead-letters"]
PAGE = f"/reports/{DEAD.slug}/"
MADE_UP = "Its queues and numbers are made up"


@ALL
def test_every_report_has_a_sample_with_its_columns_and_its_charts(
    report: Report,
) -> None:
    rows = samples.stored(report)

    assert rows
    for row in rows:
        assert row.cells.keys() == {one.name for one in report.columns}
    drawn = {one.chart.title for one in samples.sample_of(report)["drawings"]}
    assert drawn <= {one.title for one in report.charts}
    assert bool(drawn) == bool(report.charts)


@pytest.mark.django_db
@ALL
def test_a_chart_of_a_sample_is_that_of_the_same_rows_in_the_database(
    report: Report,
) -> None:
    rows = samples.stored(report)
    run = ReportRun.objects.create(report=report.slug)
    days = [row.day for row in rows if row.day]
    newest = max(days) if days else timezone.now().date()
    for row in rows:
        whose = {} if report.is_by_day else {"run": run}
        ReportRow(
            report=report.slug, day=row.day, n=row.n, cells=row.cells, **whose
        ).save()
    wanted = ResultsQuery(report.by_hour, newest, samples.DAYS, run=run.pk)

    expected = chart_series.drawings(
        found(None, wanted), wanted, chart_series.points_of
    )

    for one, other in zip(samples.sample_of(report)["drawings"], expected, strict=True):
        assert Counter(one.shapes) == Counter(other.shapes)
        assert (one.lines, one.series) == (other.lines, other.series)


@pytest.mark.django_db
@pytest.mark.usefixtures("plain_names")
def test_it_is_shown_until_the_report_has_run(client: Client) -> None:
    client.force_login(make_user("vera", permissions=("dashboards.view_report",)))
    before = client.get(PAGE).content.decode()
    now = timezone.now()
    ReportRun.objects.create(report=DEAD.slug, state=ReportRun.State.DONE, as_of=now)
    after = client.get(PAGE).content.decode()

    assert MADE_UP in before
    shown = before[before.index('id="sample"') :]
    shown = shown[: shown.index("</table>")]
    assert shown.count("<tr>") == 1 + samples.SHOWN
    assert "<svg" in shown
    assert "href" not in shown
    assert MADE_UP not in after
